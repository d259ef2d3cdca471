"""Words that say nothing about what a text is about. They are left out of the index and of queries."""

from __future__ import annotations

# Articles, pronouns, prepositions, auxiliaries, question words, and what is left of contractions.
_ENGLISH = """
    a about above after again against all also am an and any are as at be because been before being below between both
    but by can could did do does doing done down during each either else ever few for from further had has have having
    he her here hers herself him himself his how however i if in into is it its itself just let may me might more most
    much must my myself neither no nor not now of off on once one only onto or other others ought our ours ourselves
    out over own per please quite rather really same shall she should since so some such than that the their theirs
    them themselves then there therefore these they this those through thus to too toward towards under until up upon
    us very via was we were what whatever when where whether which while who whom whose why will with within without
    would yet you your yours yourself yourselves
    s t re ve ll d m don doesn didn isn aren wasn weren hasn haven hadn won wouldn couldn shouldn mustn ain
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
    "多少",
    "几个",
    "请问",
    "是否",
    "吗",
    "呢",
)
