"""Words that say nothing about what a text is about. They are left out of the index and of queries."""

from __future__ import annotations

# Articles, pronouns, auxiliaries, question words, the commonest prepositions, and what is left of contractions. A
# longer list was measured to find worse: words such as "first", "against" and "other" do tell passages apart.
_ENGLISH = """
a about an and any are as at be been before but by can could did do does for from had has have he her his how i if in
into is it its may me might my no not of on or our s so such t than that the their them then there these they this
those to was we were what when where which who whom whose why will with would you your
re ve ll d m don doesn didn isn aren wasn weren hasn haven hadn won wouldn couldn shouldn mustn
"""
ENGLISH = frozenset(_ENGLISH.split())

# Chinese characters that bind words. Alone they say nothing; in a pair with a neighbour they still do.
CHINESE_CHARACTERS = frozenset("的了吗呢吧啊呀么之乎者嘛哦哪谁何")

# What a Chinese question is asked with. Taken out of a query before its terms are cut, longest first.
CHINESE_QUESTION_WORDS = (
    "请问一下",
    "有没有",
    "是不是",
    "能不能",
    "可不可以",
    "为什么",
    "怎么样",
    "什么样",
    "什么时候",
    "什么时间",
    "什么地方",
    "哪些",
    "哪个",
    "哪一",
    "哪里",
    "哪儿",
    "哪位",
    "哪种",
    "哪",
    "什么",
    "怎么",
    "怎样",
    "如何",
    "为何",
    "何时",
    "何地",
    "何处",
    "谁",
    "多长时间",
    "多少",
    "多久",
    "多长",
    "几个",
    "请问",
    "是否",
    "吗",
    "呢",
)

_SMALL_TALK = """
hi hello hey hiya yo thanks thank thx you ok okay yes no yep nope bye goodbye good morning evening afternoon night there
how are please sorry great nice cool well sure fine welcome lol haha everyone very so much and
你好 您好 嗨 哈喽 谢谢 感谢 多谢 再见 早上好 晚上好 下午好
早 好的 好 是的 对 不 没事 不客气 哈哈 在吗 你好吗 谢谢你 你好啊 嗯
"""
# Words of greetings and thanks; a message of nothing else asks nothing.
SMALL_TALK = frozenset(_SMALL_TALK.split())

_LIGHT = """
above after again against all also always am another because being below between both call called came come did doing
done down during each either else ever few find further get give given go got however just kind know known let like
long made make makes many mean means more most much must name named need needs neither never nor now off often once one
only onto or other others out over own per please quite rather same say says shall she should since some still take
tell thus too toward under until up upon us use used using usually very via want whatever whether while within without
yet
"""
# Words that may stand in a question without being what it is about.
LIGHT_WORDS = frozenset(_LIGHT.split())
