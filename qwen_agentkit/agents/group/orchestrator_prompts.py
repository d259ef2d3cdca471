"""What an orchestrator asks its model, in both languages. Each text can be replaced."""

from __future__ import annotations

PROMPTS: dict[str, dict[str, str]] = {
    # Fields: task.
    "facts": {
        "en": "A task is to be done:\n\n{task}\n\nBefore anything is done, take stock. Write under four "
        "headings: what the task itself states; what must be looked up, and where; what must be worked "
        "out; what can be guessed from general knowledge, marked as a guess. No plan yet.",
        "zh": "有一项任务需要完成：\n\n{task}\n\n动手之前请先清点情况，分四个小标题写出：任务本身给出的事实"
        "；需要查找的事实以及去哪里找；需要推算的事实；根据常识可以猜测的内容（标明是猜测）。暂时不要写计"
        "划。",
    },
    # Fields: task, roles, facts.
    "plan": {
        "en": "The task:\n\n{task}\n\nThe team:\n{roles}\n\nWhat is known so far:\n{facts}\n\nWrite "
        "a short plan as a list, each step with the member who does it. Not everybody need take part.",
        "zh": "任务：\n\n{task}\n\n团队成员：\n{roles}\n\n目前掌握的情况：\n{facts}\n\n请写出一份简短"
        "的计划，列出各个步骤以及每一步由谁完成。不必让每个成员都参与。",
    },
    # Fields: task, roles, facts, plan. The message that the team starts with.
    "brief": {
        "en": "The task:\n{task}\n\nThe team:\n{roles}\n\nWhat is known:\n{facts}\n\nThe plan:\n{plan}",
        "zh": "任务：\n{task}\n\n团队成员：\n{roles}\n\n已知情况：\n{facts}\n\n计划：\n{plan}",
    },
    # Fields: task, roles, names, talk.
    "ledger": {
        "en": "The task:\n\n{task}\n\nThe team:\n{roles}\n\nThe work so far:\n{talk}\n\nAnswer these "
        "five questions:\n- is_request_satisfied: is the whole task done (true or false)?\n- "
        "is_in_loop: is the same thing asked for or done again and again (true or false)?\n- "
        "is_progress_being_made: have the last steps brought something new (true or false)?\n- "
        "next_speaker: who goes on (one of: {names})?\n- instruction_or_question: what is that member "
        "to do or answer, with all they need to know?\n\nReply with one JSON object of these five keys "
        'and nothing else. Each value is an object {{"reason": "...", "answer": ...}}.',
        "zh": "任务：\n\n{task}\n\n团队成员：\n{roles}\n\n目前的工作：\n{talk}\n\n请回答以下五个问题：\n"
        "- is_request_satisfied：任务是否已经全部完成（true 或 false）？\n"
        "- is_in_loop：是否在反复要求或反复做同一件事（true 或 false）？\n"
        "- is_progress_being_made：最近几步是否带来了新的进展（true 或 false）？\n"
        "- next_speaker：接下来由谁继续（从中选择：{names}）？\n"
        "- instruction_or_question：该成员要做什么或回答什么，写明其需要知道的一切。\n\n"
        '只回复一个包含这五个键的 JSON 对象，不要写其他内容。每个值都是一个对象 {{"reason": "...", "answer": ...}}。',
    },
    # Fields: problems.
    "ledger_again": {
        "en": "That cannot be used: {problems}. Reply with the whole JSON object once more.",
        "zh": "这个回复无法使用：{problems}。请重新回复完整的 JSON 对象。",
    },
    # Fields: task, facts, talk.
    "facts_again": {
        "en": "The task:\n\n{task}\n\nWhat was thought to be known:\n{facts}\n\nThe work so far:\n"
        "{talk}\n\nThe work does not get on. Write what is known anew: add what was learnt, correct "
        "what was wrong, and make at least one new guess.",
        "zh": "任务：\n\n{task}\n\n之前掌握的情况：\n{facts}\n\n目前的工作：\n{talk}\n\n工作没有进展"
        "。请重新写出掌握的情况：补充新得知的事实，更正错误，并至少给出一个新的猜测。",
    },
    # Fields: task, roles, facts, plan, talk.
    "plan_again": {
        "en": "The task:\n\n{task}\n\nThe team:\n{roles}\n\nWhat is known now:\n{facts}\n\nThe old "
        "plan:\n{plan}\n\nThe work under it:\n{talk}\n\nSay in a few words what went wrong, then "
        "write a new plan that avoids it, as a list with the member for each step.",
        "zh": "任务：\n\n{task}\n\n团队成员：\n{roles}\n\n现在掌握的情况：\n{facts}\n\n原来的计划："
        "\n{plan}\n\n按此计划所做的工作：\n{talk}\n\n请先用几句话说明哪里出了问题，再写出一份能避免"
        "这些问题的新计划，列出每一步以及由谁完成。",
    },
    # Fields: task, facts, talk, why.
    "answer": {
        "en": "The task:\n\n{task}\n\nWhat is known:\n{facts}\n\nThe work:\n{talk}\n\n{why}Write the "
        "answer for whoever gave the task. They have not seen the work. Say openly what could not be "
        "found or done.",
        "zh": "任务：\n\n{task}\n\n已知情况：\n{facts}\n\n所做的工作：\n{talk}\n\n{why}请写出给任务提"
        "出者的回答。对方没有看到过程。没有找到或没有完成的部分请如实说明。",
    },
    # No fields; put in front when the work was stopped.
    "stopped": {
        "en": "The work was stopped before the task was done. ",
        "zh": "任务完成之前工作已被中止。",
    },
}
