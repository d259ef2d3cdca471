"""The words of `handbook.pdf`: the handbook of an invented cargo bicycle, one list of blocks a page.

A block is (kind, content): h1, h2, p, note and caption hold text, ul and ol a list of texts, and table
a list of rows of which the first is the header.
"""

TITLE = "Heron 5"
SUBTITLE = "Electric cargo bicycle: owner's handbook"
EDITION = "Edition 4, for bicycles with frame numbers from HR5-20260 onwards"
MAKER = "Brackwater Works"

PAGES = [
    [
        ("cover", (TITLE, SUBTITLE, EDITION)),
        ("h2", "About this handbook"),
        (
            "p",
            "This handbook belongs to the bicycle. It tells how to put the Heron 5 together, ride it, charge it, look "
            "after it and get help with it. Keep it for as long as you own the bicycle, and hand it on with the bicycle "
            "when you sell it.",
        ),
        (
            "p",
            "The frame number is stamped into the underside of the bottom bracket. Write it here together with the date "
            "of purchase; a claim under the warranty needs both.",
        ),
        (
            "table",
            [
                ["Frame number", "Date of purchase", "Dealer"],
                ["", "", ""],
            ],
        ),
        ("h2", "Contents"),
        (
            "contents",
            [
                ("Safety", 2),
                ("Unpacking and assembly", 3),
                ("Battery and charging", 4),
                ("Riding", 5),
                ("Care and maintenance", 6),
                ("Warranty", 7),
                ("Troubleshooting", 8),
                ("Technical data", 9),
                ("Service, spare parts and disposal", 10),
            ],
        ),
    ],
    [
        ("h1", "Safety"),
        (
            "p",
            "The Heron 5 carries up to two children or 90 kg of goods in its front box. It is heavier and longer than an "
            "ordinary bicycle. Practise in an empty car park before you ride in traffic, first without a load and then "
            "with one.",
        ),
        ("h2", "Loads"),
        (
            "p",
            "The permitted total weight is 230 kg: bicycle, rider, box and rear rack together. The front box holds "
            "90 kg at most and the rear rack 27 kg. Place heavy things low and close to the steering column.",
        ),
        (
            "ul",
            [
                "Children in the box wear a helmet and the five-point belt at all times.",
                "Children must be able to sit upright on their own; the bench is meant for ages 9 months to 7 years.",
                "Never leave children in the box while the bicycle stands on its kickstand on a slope.",
                "Dogs ride on a short leash that is hooked to the ring on the floor of the box.",
            ],
        ),
        ("h2", "On the road"),
        (
            "p",
            "The assistance of the motor ends at 25 km/h. Braking distance grows with the load: from 25 km/h the empty "
            "bicycle stops within 5.2 metres on a dry road, and fully loaded within 7.9 metres. On a wet road, allow "
            "for twice the distance.",
        ),
        (
            "note",
            "Warning: the brake discs grow hot on long descents. Do not touch them for at least 15 minutes after the "
            "ride.",
        ),
        ("h2", "Work on the bicycle"),
        (
            "p",
            "Switch the system off and take the battery out before any work on the bicycle. Do not open the motor or "
            "the battery: the battery holds up to 42 volts, and opening either ends the warranty.",
        ),
        ("h2", "Signs used in this handbook"),
        (
            "table",
            [
                ["Word", "Meaning"],
                ["Warning", "Disregard may lead to injury."],
                ["Caution", "Disregard may damage the bicycle or other things."],
                ["Note", "Something that makes the work easier."],
            ],
        ),
    ],
    [
        ("h1", "Unpacking and assembly"),
        (
            "p",
            "The bicycle arrives in one carton of 198 x 74 x 112 cm that weighs 61 kg. Two people need about "
            "50 minutes to put it together. Keep the carton for 30 days in case something has to go back.",
        ),
        ("h2", "What is in the carton"),
        (
            "table",
            [
                ["Part", "Number", "Packed in"],
                ["Frame with motor and rear wheel", "1", "main compartment"],
                ["Front wheel, 20 inch", "1", "left side pocket"],
                ["Box of birch plywood, flat", "5 panels", "floor"],
                ["Battery, 614 Wh", "1", "red inner carton"],
                ["Charger with mains lead", "1", "red inner carton"],
                ["Bag of screws, with hex keys 4, 5 and 8 mm", "1", "taped to the frame"],
                ["Keys for battery and frame lock", "3", "envelope with this handbook"],
            ],
        ),
        ("h2", "Steps"),
        (
            "ol",
            [
                "Stand the frame on its kickstand and cut the three straps.",
                "Put the front wheel in with the arrow on the tyre pointing forwards. Tighten the axle to 15 Nm.",
                "Fix the floor panel of the box to the four holders with M6 screws, 8 Nm each.",
                "Fix the side panels and the front panel. The panel with the window is the front.",
                "Set the handlebar straight and tighten the two stem screws to 6 Nm in turns.",
                "Set the saddle so that your heel just reaches the lower pedal with a straight leg. The mark MAX on "
                "the seat post must not be seen.",
                "Push the battery in from above until it clicks twice, and turn the key.",
            ],
        ),
        (
            "note",
            "Note: the steering rod is adjusted at the works. If the front wheel does not point straight ahead with a "
            "straight handlebar, loosen the lock nut on the rod, turn the rod, and tighten the nut to 12 Nm.",
        ),
        ("h2", "Before the first ride"),
        (
            "p",
            "Pump the front tyre to 3.5 bar and the rear tyre to 4.0 bar. Squeeze each brake lever twenty times; new "
            "pads reach their full force only after about 30 stops from 20 km/h. Charge the battery fully once.",
        ),
    ],
    [
        ("h1", "Battery and charging"),
        (
            "p",
            "The battery has 40 cells, a nominal voltage of 36 volts and holds 614 watt-hours. With the supplied "
            "charger an empty battery is full after 4 hours and 20 minutes; 80 percent are reached after 2 hours and "
            "45 minutes.",
        ),
        ("h2", "How far a charge goes"),
        (
            "table",
            [
                ["Assistance", "Empty box", "40 kg in the box", "90 kg in the box"],
                ["Eco", "95 km", "78 km", "61 km"],
                ["Tour", "70 km", "57 km", "46 km"],
                ["Boost", "48 km", "39 km", "31 km"],
            ],
        ),
        ("caption", "Table 1: range on level roads at 20 °C, rider of 75 kg, new battery."),
        ("h2", "Charging"),
        (
            "ol",
            [
                "Switch the bicycle off. The battery may stay in the bicycle or be taken out.",
                "Lift the rubber cap below the key and plug the charger in.",
                "Plug the charger into a mains socket. Its light is red while it charges and green when it is done.",
                "Pull the mains plug first, then the plug at the battery, and close the cap.",
            ],
        ),
        (
            "p",
            "Charge only in dry rooms between 5 and 40 °C and only with the charger CH-4A. A battery that comes in "
            "from the frost must warm up for two hours first; below 5 °C the charger blinks and waits.",
        ),
        ("h2", "Storage"),
        (
            "p",
            "If the bicycle is not used for more than a month, take the battery out and store it at about 60 percent "
            "in a dry place between 10 and 20 °C. Recharge it to 60 percent every three months. A battery that has "
            "been stored empty may be damaged for good.",
        ),
        (
            "note",
            "Caution: a battery that has fallen from more than one metre, or has been under water, must not be charged. "
            "Put it outdoors, away from anything that burns, and call the service.",
        ),
        ("h2", "What the five lights say"),
        (
            "table",
            [
                ["Lights", "Charge"],
                ["five", "81 to 100 percent"],
                ["four", "61 to 80 percent"],
                ["three", "41 to 60 percent"],
                ["two", "21 to 40 percent"],
                ["one, steady", "8 to 20 percent"],
                ["one, blinking", "below 8 percent; assistance falls to Eco"],
            ],
        ),
    ],
    [
        ("h1", "Riding"),
        ("h2", "Switching on"),
        (
            "p",
            "Hold the round button on the display for two seconds with your feet off the pedals. The display shows the "
            "charge, the level of assistance and the speed. The system switches itself off after 12 minutes without "
            "movement.",
        ),
        ("h2", "Levels of assistance"),
        (
            "table",
            [
                ["Level", "Help of the motor", "Good for"],
                ["Off", "none", "riding home with an empty battery"],
                ["Eco", "up to 60 percent", "level roads, long trips"],
                ["Tour", "up to 140 percent", "everyday rides with a load"],
                ["Boost", "up to 320 percent", "hills, starting with children on board"],
                ["Walk", "up to 5 km/h", "pushing the bicycle up a ramp"],
            ],
        ),
        (
            "p",
            "The buttons plus and minus change the level. Walk is switched on by holding minus for three seconds and "
            "works only while the button is held.",
        ),
        ("h2", "Gears"),
        (
            "p",
            "The hub has 8 gears and is shifted by turning the right grip, also at a standstill. Ease the pressure on "
            "the pedals for half a turn while shifting. Start in gear 2 with a loaded box.",
        ),
        ("h2", "Brakes, lights and lock"),
        (
            "p",
            "The right lever brakes the front wheel and the left lever the rear wheel. Always use both. The parking "
            "brake is the small red pin on the left lever: squeeze the lever and push the pin in.",
        ),
        (
            "p",
            "The lights come on with the system and stay on for 4 minutes after it is switched off. Head light: 70 lux. "
            "The rear light grows brighter when you brake.",
        ),
        (
            "p",
            "The frame lock is opened with the same key as the battery. The key cannot be pulled out while the lock is "
            "open.",
        ),
        ("h2", "The app"),
        (
            "p",
            "The app Heron Ride shows range and rides and can lock the motor. Pairing: hold the light button for five "
            "seconds and enter the six digits that the display shows. The bicycle works fully without the app. "
            "Positions of rides are kept on the telephone only and are deleted after 90 days unless you change this.",
        ),
        ("h2", "Weather"),
        (
            "p",
            "Rain and snow do no harm. Do not ride through water deeper than 18 cm: the motor is tight against spray "
            "(IPX4), but not against being under water. Between -10 and 0 °C expect about one third less range.",
        ),
    ],
    [
        ("h1", "Care and maintenance"),
        (
            "p",
            "Clean the bicycle with a bucket, a sponge and mild soap. High-pressure cleaners push water past the seals "
            "of motor, hub and headset and must not be used. Oil the plywood of the box twice a year.",
        ),
        ("h2", "What to do when"),
        (
            "table",
            [
                ["When", "What", "By whom"],
                ["every week", "tyre pressure, lights, brakes", "you"],
                ["every 300 km", "clean the belt with a dry brush", "you"],
                ["after 500 km", "first inspection, free of charge", "dealer"],
                ["every 2,000 km or once a year", "inspection: brake pads, spokes, steering rod, software", "dealer"],
                ["every 4,000 km", "change the oil of the hub", "dealer"],
                ["every 12,000 km", "change the belt", "dealer"],
                ["every 2 years", "change the brake fluid (mineral oil only)", "dealer"],
            ],
        ),
        ("caption", "Table 2: maintenance. Whichever comes first counts."),
        ("h2", "Belt"),
        (
            "p",
            "The carbon belt needs no oil. Its tension is right when it can be pushed down by 9 to 11 mm in the middle "
            "with a force of 40 N. A belt with a missing tooth or a crack must be changed at once.",
        ),
        ("h2", "Brake pads"),
        (
            "p",
            "Change the pads when less than 1.0 mm is left on the carrier plate. Front pads last about 2,500 km, rear "
            "pads about 4,500 km. The type is BP-12, sintered. Never let oil touch the pads or the discs.",
        ),
        ("h2", "Tyres and tubes"),
        (
            "table",
            [
                ["", "Front", "Rear"],
                ["Size", "20 x 2.15 inch", "26 x 2.15 inch"],
                ["Pressure without load", "3.0 bar", "3.5 bar"],
                ["Pressure with full load", "3.5 bar", "4.0 bar"],
                ["Valve", "car valve", "car valve"],
            ],
        ),
        ("h2", "Taking the rear wheel out"),
        (
            "ol",
            [
                "Shift to gear 1 and take the battery out.",
                "Unhook the shift cable from the hub and open the belt gate on the right seat stay (hex key 5 mm).",
                "Loosen both axle nuts (15 mm) and slide the wheel back and out.",
                "When putting it back, tighten the axle nuts to 40 Nm and check the tension of the belt.",
            ],
        ),
    ],
    [
        ("h1", "Warranty"),
        (
            "p",
            "Brackwater Works gives this warranty to the first owner and, if the handover is registered, to every later "
            "one. It stands beside your legal rights against the seller and does not limit them.",
        ),
        (
            "p",
            "The motor is guaranteed for 27 months from the date of purchase. There is no limit on the distance ridden. "
            "A motor that is changed under the warranty keeps the time that was left of the old one, but never less "
            "than 6 months.",
        ),
        ("h2", "Battery"),
        (
            "p",
            "The battery keeps at least 70 percent of its capacity for 36 months or 800 full charges, whichever comes "
            "first. Capacity is measured by the dealer with the tester BT-2.",
        ),
        ("h2", "Frame, box and other parts"),
        (
            "table",
            [
                ["Part", "Covered for", "Remark"],
                ["Frame and fork", "10 years", "5 years when used for commercial deliveries"],
                ["Plywood box", "3 years", "when oiled twice a year"],
                ["Hub gear", "2 years", "when the oil changes are documented"],
                ["Display and wiring", "2 years", ""],
                ["Paint", "1 year", "chips from stones are not covered"],
                ["Belt, tyres, pads, grips", "none", "parts that wear"],
            ],
        ),
        ("h2", "What is not covered"),
        (
            "ul",
            [
                "Damage by accidents, by more weight than permitted, or by competition.",
                "Damage by high-pressure cleaners or by riding through deep water.",
                "Motors with changed software or raised top speed.",
                "Bicycles whose first inspection after 500 km is not documented.",
            ],
        ),
        ("h2", "How to make a claim"),
        (
            "p",
            "Take the bicycle to your dealer, or write to warranty@brackwater.example with the frame number, the receipt "
            "and a picture of the damage. You have an answer within 5 working days. A repair takes 15 working days at "
            "most; if it takes longer, you are lent a bicycle free of charge.",
        ),
        (
            "p",
            "A change of owner is registered at the same address within 8 weeks of the sale. The registration is free.",
        ),
    ],
    [
        ("h1", "Troubleshooting"),
        (
            "p",
            "Many faults go away when the system is switched off, the battery taken out for one minute and put back. If "
            "the display shows a code, look it up below.",
        ),
        ("h2", "Codes on the display"),
        (
            "table",
            [
                ["Code", "Meaning", "What to do"],
                ["E02", "speed sensor sees no magnet", "set the magnet on the spoke 5 mm from the sensor"],
                ["E05", "torque sensor not zero", "switch on with both feet off the pedals"],
                ["E11", "motor too hot", "ride on without assistance for 10 minutes"],
                ["E14", "battery too cold", "bring the battery above -10 °C"],
                ["E21", "no contact to the battery", "clean the contacts with a dry cloth, push the battery in again"],
                ["E23", "battery not recognised", "only batteries BA-614 fit; see the dealer"],
                ["E30", "brake switch stuck", "pull both levers ten times; see the dealer if it comes back"],
                ["E42", "software fault", "install the newest software with the app"],
            ],
        ),
        ("h2", "Without a code"),
        (
            "table",
            [
                ["What you see", "Likely cause", "Mend"],
                ["Motor stops at 25 km/h", "as the law wants it", "none"],
                ["Belt squeals", "dust or dry belt", "brush it; a drop of silicone spray on the inside"],
                ["Box rattles", "screws of the floor loose", "tighten to 8 Nm"],
                ["Steering is stiff", "joint of the rod dry", "grease the joint, two strokes of the gun"],
                ["Rear light does not work", "plug under the rack loose", "push the plug in until it clicks"],
                ["Charger stays dark", "fuse of the mains plug", "change the 5 A fuse"],
            ],
        ),
        ("h2", "Emergency opening of the lock"),
        (
            "p",
            "If all three keys are lost, the dealer orders new ones by the key number that is printed on the card in the "
            "envelope. Without the card the lock cylinder has to be changed, which takes about 40 minutes and costs "
            "64 euros.",
        ),
        ("h2", "Reset"),
        (
            "p",
            "Hold plus, minus and the light button together for eight seconds. The settings go back to those of the "
            "works; the distance counter keeps its value.",
        ),
    ],
    [
        ("h1", "Technical data"),
        (
            "table",
            [
                ["Property", "Value"],
                ["Length x width x height", "252 x 68 x 114 cm"],
                ["Wheelbase", "195 cm"],
                ["Weight without battery", "38.4 kg"],
                ["Weight of the battery", "3.6 kg"],
                ["Inner size of the box", "82 x 58 x 46 cm"],
                ["Permitted total weight", "230 kg"],
                ["Size of the rider", "156 to 198 cm"],
                ["Motor", "mid-drive BW-85, 250 W nominal, 85 Nm"],
                ["Battery", "BA-614, 36 V, 17.05 Ah, 614 Wh"],
                ["Charger", "CH-4A, 100 to 240 V, 42 V and 4 A out"],
                ["Gears", "hub with 8 gears, range 307 percent"],
                ["Drive", "carbon belt, 113 teeth"],
                ["Brakes", "hydraulic discs, 180 mm front and 160 mm rear"],
                ["Turning circle", "5.4 m"],
                ["Noise at the rider's ear", "below 62 dB(A)"],
                ["Temperature in use", "-10 to 40 °C"],
                ["Colours", "moss green, slate, signal orange"],
            ],
        ),
        ("h2", "Tightening torques"),
        (
            "table",
            [
                ["Joint", "Thread", "Torque"],
                ["Front axle", "M12", "15 Nm"],
                ["Rear axle nuts", "M10", "40 Nm"],
                ["Stem", "M5", "6 Nm"],
                ["Seat clamp", "M6", "7 Nm"],
                ["Crank arms", "M8", "38 Nm"],
                ["Brake callipers", "M6", "9 Nm"],
                ["Motor to frame", "M8", "22 Nm"],
            ],
        ),
        ("h2", "Declaration"),
        (
            "p",
            "The Heron 5 is a pedal-assisted bicycle. It was tested for a service life of 30,000 km under full load. The "
            "full declaration can be asked for at docs@brackwater.example.",
        ),
    ],
    [
        ("h1", "Service, spare parts and disposal"),
        ("h2", "How to reach us"),
        (
            "p",
            "The service line answers Monday to Friday from 8:30 to 17:00 and on Saturday from 9:00 to 13:00. Telephone: "
            "+00 555 0142. Mail: help@brackwater.example. Have the frame number at hand.",
        ),
        (
            "p",
            "A mobile mechanic comes to your door in 14 cities. The visit costs 39 euros and is free of charge within "
            "the warranty.",
        ),
        ("h2", "Spare parts"),
        (
            "table",
            [
                ["Part", "Order number", "Price"],
                ["Battery BA-614", "20-614", "549.00 euros"],
                ["Charger CH-4A", "20-041", "89.00 euros"],
                ["Brake pads BP-12, pair", "31-012", "18.50 euros"],
                ["Belt, 113 teeth", "33-113", "74.90 euros"],
                ["Rain cover for the box", "45-007", "129.00 euros"],
                ["Bench for two children, with belts", "45-010", "149.00 euros"],
                ["Tube 20 inch, car valve", "50-020", "7.90 euros"],
                ["Key by number", "60-001", "12.00 euros"],
            ],
        ),
        (
            "p",
            "Spare parts are kept for 12 years after the last Heron 5 is made. Orders above 75 euros are sent free of "
            "charge; below that sending costs 6.90 euros.",
        ),
        ("h2", "Transport"),
        (
            "p",
            "The battery counts as dangerous goods. It may not be sent by ordinary post and not be taken on aircraft. On "
            "a car rack the bicycle travels without battery and without box cover.",
        ),
        ("h2", "Disposal"),
        (
            "p",
            "Dealers take old batteries back free of charge. The bicycle itself can be returned to the works at the end "
            "of its life; 91 percent of its weight is recycled. Brackwater Works pays 25 euros for a returned frame.",
        ),
        ("h2", "Imprint"),
        (
            "p",
            "Brackwater Works, 3 Sluice Lane, Brackwater. The company, the bicycle and all numbers in this handbook are "
            "invented; the handbook serves to try out software that reads documents.",
        ),
    ],
]
