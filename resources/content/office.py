"""The words of the smaller documents: a staff policy, a review with notes, price lists, repairs, a page, notes."""

STAFF_POLICY_TITLE = "Staff policy of Brackwater Works"
# Blocks as in `handbook.py`; h1 and h2 are Word's heading styles.
STAFF_POLICY = [
    ("p", "Valid from 1 March 2026. It replaces the policy of 2023. Questions go to people@brackwater.example."),
    ("h1", "Working time"),
    (
        "p",
        "A full week has 37.5 hours. The core time is 10:00 to 15:00 from Monday to Thursday; there is no core time on "
        "Friday. Hours are written down in the time sheet by the end of the following working day.",
    ),
    (
        "p",
        "Overtime is agreed with the team lead beforehand. Up to 40 hours may stand on the account; hours above that are "
        "paid out with the salary of June or December.",
    ),
    ("h2", "Working from home"),
    (
        "p",
        "Staff whose work allows it may work from home on two days a week. The works, the paint shop and the service "
        "desk are excepted. A monthly allowance of 35 euros is paid for power and heating.",
    ),
    ("h1", "Leave"),
    (
        "p",
        "Everyone has 28 days of paid leave a year, and one further day for every five full years with the company. At "
        "most 8 days may be carried over; they lapse on 31 March.",
    ),
    (
        "table",
        [
            ["Occasion", "Days of special leave", "Proof"],
            ["Own wedding", "2", "certificate"],
            ["Birth of a child", "10", "certificate"],
            ["Moving house", "1, once in two years", "none"],
            ["Death of a close relative", "3", "none"],
            ["Voluntary fire service", "as needed", "letter of the brigade"],
        ],
    ),
    ("h2", "Illness"),
    (
        "p",
        "Report illness to the team lead before 9:00 on the first day. A doctor's note is needed from the fourth day on. "
        "Pay goes on for six weeks.",
    ),
    ("h1", "Travel and expenses"),
    (
        "ul",
        [
            "Trips under 600 km are made by train, second class; first class from four hours of travel on.",
            "The limit for a hotel is 120 euros a night, 165 euros in capitals.",
            "The daily allowance is 28 euros, and 14 euros on days of arrival and departure.",
            "Receipts are handed in within 30 days. Later ones need the signature of the finance lead.",
        ],
    ),
    ("h1", "Bicycles for staff"),
    (
        "p",
        "After the probation of six months everyone may lease a Heron 5 for 49 euros a month. The lease includes "
        "insurance and one inspection a year. It ends after 36 months; the bicycle may then be bought for 690 euros.",
    ),
    ("h1", "Data and devices"),
    (
        "ol",
        [
            "Passwords have at least 14 characters and are kept in the company's password store.",
            "A lost telephone or laptop is reported within two hours to the number +00 555 0199.",
            "Customers' data leaves the company's systems only with the written consent of the data officer, Ida Vance.",
        ],
    ),
]

REVIEW_TITLE = "Project Otter: review of the second quarter"
# (title, bullets or table rows, notes of the speaker)
REVIEW_SLIDES = [
    (
        "Where we stand",
        [
            "The folding box is ready for series: 412 of 430 tests passed",
            "Start of series moves from 7 September to 21 September",
            "Budget: 318,000 of 350,000 euros spent",
        ],
        "Say at once that the two weeks are due to the hinge and not to the software. The supplier Tolland has confirmed "
        "the new date in writing.",
    ),
    (
        "Results of the tests",
        [
            ["Test", "Wanted", "Reached"],
            ["Folding cycles", "20,000", "26,400"],
            ["Load on the folded box", "25 kg", "31 kg"],
            ["Tightness against rain", "30 minutes", "45 minutes"],
            ["Weight of the box", "6.5 kg", "6.9 kg"],
        ],
        "The weight is the only number that we miss. A floor of 6 mm plywood would save 0.5 kg and cost 3.20 euros a piece.",
    ),
    (
        "Risks",
        [
            "Only one supplier for the hinge; a second, Marbeck, is under test until August",
            "Paint shop is fully booked in calendar weeks 36 and 37",
            "The patent search found one claim that our lawyers judge harmless",
        ],
        "If asked about the patent: the letter of the lawyers is of 11 May and lies with Priya Nandakumar.",
    ),
    (
        "Decisions we need today",
        [
            "Release of 48,000 euros for the second set of tools",
            "Name of the product: Otter Fold or Heron Fold",
            "Dealers' price: proposal 389 euros",
        ],
        "The board can decide on the name by mail until Friday. The tools cannot wait.",
    ),
    (
        "Next steps",
        [
            "Pilot series of 60 pieces: 3 August",
            "Training of the dealers: 24 August, led by Tomas Reuter",
            "Start of series: 21 September",
        ],
        "Close with the picture of the prototype on the beach. Total time: 12 minutes.",
    ),
]

# sheet -> rows; the first is the header. Prices in euros, before tax.
PRICE_SHEETS = {
    "Bicycles": [
        ["Article", "Order number", "Dealer price", "Retail price", "In stock"],
        ["Heron 5 moss green", "10-501", 3290.00, 4590.00, 42],
        ["Heron 5 slate", "10-502", 3290.00, 4590.00, 17],
        ["Heron 5 signal orange", "10-503", 3340.00, 4660.00, 8],
        ["Heron 5 Trade, long box", "10-540", 3610.00, 4990.00, 23],
        ["Teal 2 folding bicycle", "10-201", 1180.00, 1690.00, 64],
    ],
    "Spare parts": [
        ["Article", "Order number", "Dealer price", "Retail price", "In stock"],
        ["Battery BA-614", "20-614", 412.00, 549.00, 130],
        ["Charger CH-4A", "20-041", 61.00, 89.00, 88],
        ["Brake pads BP-12, pair", "31-012", 9.80, 18.50, 940],
        ["Belt, 113 teeth", "33-113", 48.00, 74.90, 210],
        ["Rain cover for the box", "45-007", 84.00, 129.00, 55],
        ["Bench for two children", "45-010", 97.00, 149.00, 31],
        ["Tube 20 inch", "50-020", 3.90, 7.90, 1200],
    ],
    "Work": [
        ["Job", "Minutes", "Price"],
        ["Inspection after 500 km", 45, 0.00],
        ["Yearly inspection", 90, 99.00],
        ["Change of the belt", 35, 42.00],
        ["Change of a lock cylinder", 40, 64.00],
        ["Visit of the mobile mechanic", 0, 39.00],
    ],
    "Delivery": [
        ["Country", "Days", "Bicycle", "Parts up to 5 kg", "Free from"],
        ["Home", 3, 79.00, 6.90, 75.00],
        ["Neighbouring countries", 6, 149.00, 14.50, 150.00],
        ["Overseas", 21, 520.00, 38.00, 600.00],
    ],
}

REPAIRS = [
    ["ticket", "date", "frame_number", "part", "fault", "minutes", "cost_euros", "under_warranty"],
    ["R-1041", "2026-01-09", "HR5-202611", "motor", "noise under load", "120", "0.00", "yes"],
    ["R-1042", "2026-01-12", "HR5-202640", "belt", "missing tooth", "35", "116.90", "no"],
    ["R-1043", "2026-01-12", "HR5-202602", "display", "does not switch on", "50", "0.00", "yes"],
    ["R-1044", "2026-01-15", "HR5-202655", "brake pads", "worn", "25", "37.00", "no"],
    ["R-1045", "2026-01-19", "HR5-202631", "battery", "capacity 66 percent after 21 months", "30", "0.00", "yes"],
    ["R-1046", "2026-01-22", "HR5-202618", "plywood box", "crack after a fall", "80", "212.00", "no"],
    ["R-1047", "2026-01-26", "HR5-202670", "steering rod", "joint stiff", "20", "28.00", "no"],
    ["R-1048", "2026-02-02", "HR5-202644", "lock", "keys lost, new cylinder", "40", "64.00", "no"],
    ["R-1049", "2026-02-04", "HR5-202609", "motor", "code E11 on level road", "140", "0.00", "yes"],
    ["R-1050", "2026-02-05", "HR5-202688", "tube", "puncture, rear", "30", "35.90", "no"],
]

SHOP_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Brackwater Works: the shop in Sluice Lane</title>
</head>
<body>
<header><nav><a href="#hours">Hours</a> <a href="#rent">Rent</a> <a href="#faq">Questions</a></nav></header>
<main>
<h1>The shop in Sluice Lane</h1>
<p>Come and ride. Twelve bicycles stand ready for trial rides, among them two with the long box.</p>
<h2 id="hours">Opening hours</h2>
<table>
<tr><th>Day</th><th>Shop</th><th>Workshop</th></tr>
<tr><td>Monday</td><td>closed</td><td>8:00 to 16:00</td></tr>
<tr><td>Tuesday to Friday</td><td>10:00 to 18:30</td><td>8:00 to 16:00</td></tr>
<tr><td>Saturday</td><td>9:00 to 14:00</td><td>closed</td></tr>
</table>
<h2 id="rent">Rent a Heron</h2>
<p>A Heron 5 costs 34 euros a day or 85 euros from Friday noon to Monday morning. The deposit is 200 euros. Helmets for
children are lent free of charge.</p>
<ul>
<li>Bookings can be cancelled free of charge until 24 hours before.</li>
<li>The bicycle must be back by 18:00, fully locked, at the red gate.</li>
</ul>
<h2 id="faq">Questions we are often asked</h2>
<h3>May I bring my dog to a trial ride?</h3>
<p>Yes. Dogs up to 40 kg ride in the box, on the short leash.</p>
<h3>Do you take old bicycles in payment?</h3>
<p>We take back our own bicycles that are less than six years old. An appraisal takes 20 minutes and costs nothing.</p>
<h3>Is there a course for beginners?</h3>
<p>Every first Saturday of the month at 9:30, for 15 euros. The course lasts 75 minutes and has eight places.</p>
</main>
<footer>Brackwater Works is an invented company.</footer>
<script>document.title += " *";</script>
</body>
</html>
"""

MEETING_NOTES = """# Workshop meeting, 4 February 2026

Present: Ida Vance, Tomas Reuter, Priya Nandakumar (minutes). Absent: Jonas Ekberg.

## Decisions

1. The workshop orders a second torque wrench, 5 to 60 Nm, for at most 240 euros.
2. From March on, every returned battery is measured with the tester BT-2 before it goes to the works.
3. The stock of brake pads BP-12 never falls below 300 pairs.

## Open points

| Point | Who | Until |
| --- | --- | --- |
| Find out why code E11 shows on level roads (R-1049) | Tomas | 20 February |
| New poster with the tightening torques | Priya | 27 February |
| Offer of the insurance for the mobile mechanics | Ida | 13 March |

## Notes

The mean time of a repair fell from 61 minutes in the autumn to 57 minutes in January. Most of the gain comes from the
new stand, which lifts a bicycle with the box on.

Tomas showed how the joint of the steering rod is greased: two strokes of the gun, then turn the handlebar from stop to
stop five times. With the old gun it is three strokes.

```text
order of work for a noisy motor
1. read the counter and the codes
2. ride 2 km in Boost with 40 kg in the box
3. listen at the left crank; if it clicks, change the crank bolts before anything else
```

Next meeting: 4 March 2026, 14:00, in the paint shop.
"""
