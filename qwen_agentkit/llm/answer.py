"""The way of one answer: cache, then each model of the chain with its retries, until one has answered.

answer          the cache, the form of the answer
└ _from_chain   the model asked, then its fallbacks (fallback.py)
  └ _from_model empty replies are asked for again
    └ _retried  failed requests are made again (retry.py)
      └ _attempt one request: deltas in, growing messages out
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.events import ToolCallDelta
from qwen_agentkit.llm import cache, fallback, usage
from qwen_agentkit.llm.dialects import get_dialect
from qwen_agentkit.llm.generate_cfg import GenerateOptions, merge_generate_cfgs
from qwen_agentkit.llm.history import repair_history
from qwen_agentkit.llm.length import truncate_input
from qwen_agentkit.llm.profiles import bounded_input_tokens, profile_of
from qwen_agentkit.llm.rate_limits import limiter_of
from qwen_agentkit.llm.reply import Reply
from qwen_agentkit.llm.request import (
    Ask,
    ModelRequest,
    begin_in_prompt,
    form_way,
    is_beginning,
    one_system_message,
    with_instruction,
)
from qwen_agentkit.llm.retry import RetryPolicy
from qwen_agentkit.llm.service_errors import SCHEMA_WORDS, kind_of
from qwen_agentkit.llm.structured import ANSWER_TOOL, answer_in_form, as_function, instruction
from qwen_agentkit.log import logger
from qwen_agentkit.run_context import RunContext, current_run
from qwen_agentkit.schema import ASSISTANT, USER, Message

if TYPE_CHECKING:
    from qwen_agentkit.llm.base import BaseChatModel

Snapshots = Iterator[list[Message]]

# What an empty reply is asked for again with; it goes on the copy sent only.
_HINTS = {
    "en": "Your last reply was empty. Please give your answer.",
    "zh": "上一次的回复是空的，请给出回答。",
}

# Services (model and address) that refused tools, or a schema for the answer, once: these go into the prompt's text
# for them from then on.
_without_tools: set[str] = set()
_without_schemas: set[str] = set()
# Services of whose missing tools a warning was given.
_warned: set[str] = set()


@dataclass
class Outcome:
    """A reply that has ended, with what there is to note about it."""

    reply: Reply
    model: BaseChatModel
    usage: dict[str, Any]


def answer(model: BaseChatModel, ask: Ask) -> Snapshots:
    """Growing lists of messages, the last of them the whole answer with its marks.

    An answer in a form is handed over once, when it fits: a try that does not fit would have to be taken back.
    """
    if ask.form is None:
        yield from _free_answer(model, ask)
        return

    def try_once(messages: list[Message]) -> list[Message]:
        *_, whole = _free_answer(model, replace(ask, messages=messages))
        return whole

    yield answer_in_form(try_once, ask.messages, ask.form, lang=ask.lang)


def _free_answer(model: BaseChatModel, ask: Ask) -> Snapshots:
    key = cache.key_of(model, ask)
    if key is not None:
        kept = cache.read(model, key, ask)
        if kept is not None:
            yield kept
            return
    outcome = yield from _from_chain(model, ask)
    messages = outcome.reply.finish()
    last = messages[-1]
    messages[-1] = last.model_copy(update={"extra": {**(last.extra or {}), "usage": outcome.usage}})
    if key is not None and outcome.model is model:
        cache.write(model, key, messages, ask)
    yield messages


def _from_chain(model: BaseChatModel, ask: Ask) -> Generator[list[Message], None, Outcome]:
    chain = fallback.candidates(model, ask)
    asked: BaseChatModel | None = None
    carried: Reply | None = None
    failure: fallback.AskAnother | None = None
    for position, candidate in enumerate(chain):
        if carried is not None and carried.text and not candidate.takes_beginnings(candidate.options(ask.generate_cfg)):
            continue  # it would say again what the reader has seen
        if asked is not None and failure is not None:
            fallback.report_switch(asked, candidate, failure.reason)
        asked = candidate
        try:
            outcome = yield from _from_model(candidate, ask, carried, last_chance=position == len(chain) - 1)
        except fallback.AskAnother as passed_on:
            failure, carried = passed_on, passed_on.reply
        else:
            fallback.breaker.worked(candidate.service)
            return outcome
    if failure is None or failure.error is None:
        raise AssertionError("unreachable: only text that broke off passes models over")
    raise failure.error


def _from_model(
    model: BaseChatModel, ask: Ask, carried: Reply | None, last_chance: bool
) -> Generator[list[Message], None, Outcome]:
    options, rest = model.settings_of_call(ask.generate_cfg)
    question = _fitted(model, ask, options)
    for again in range(options.empty_retries + 1):
        outcome = yield from _retried(model, ask, options, rest, question, carried, last_chance)
        reply = outcome.reply
        if not reply.empty or reply.finish_reason in ("length", "content_filter") or options.empty_reply == "accept":
            return outcome
        if options.empty_reply == "fallback" or again == options.empty_retries:
            if not last_chance:
                raise fallback.AskAnother(reply, "the reply was empty")
            return outcome
        logger.info("The model %s gave an empty reply; it is asked again", model.model)
        question = [*question, Message(USER, _HINTS[ask.lang])] if again == 0 else question
        carried = reply
    raise AssertionError("unreachable: the last round returns")


def _retried(
    model: BaseChatModel,
    ask: Ask,
    options: GenerateOptions,
    rest: dict[str, Any],
    question: list[Message],
    carried: Reply | None,
    last_chance: bool,
) -> Generator[list[Message], None, Outcome]:
    reply: Reply | None = None

    def shown() -> bool:
        return reply is not None and reply.shows_more

    def may_go_on() -> bool:
        return reply is not None and _can_go_on(model, options, reply)

    policy = RetryPolicy(options, model.model, shown, may_go_on)
    try:
        for attempt in policy.loop():
            with attempt:
                if reply is not None and reply.shows_more:
                    carried = reply
                request, reply = _prepared(model, ask, options, rest, question, carried)
                clock = usage.Clock()
                try:
                    return (yield from _attempt(model, request, reply, clock))
                except ModelServiceError as error:
                    if reply.has_calls:
                        # The calls written before the break are complete: the run can go on with them.
                        logger.warning("The answer broke off after a complete tool call: %s", error)
                        return Outcome(
                            reply, model, usage.record(model.model, None, request, reply.finish(), "broken", clock)
                        )
                    if reply.shows_more or not _learnt_from(error, model, request):
                        raise
                request, reply = _prepared(model, ask, options, rest, question, carried)
                return (yield from _attempt(model, request, reply, usage.Clock()))
    except ModelServiceError as error:
        if kind_of(error) in fallback.HEALTH:
            fallback.breaker.failed(model.service)
        if last_chance or not fallback.is_for_another(error):
            raise
        if reply is not None and reply.shows_more:
            if options.on_broken_stream == "raise":
                raise
            carried = reply
        raise fallback.AskAnother(carried, str(error.message), error) from error
    raise AssertionError("unreachable: tenacity raises when the attempts are over")


def _learnt_from(error: ModelServiceError, model: BaseChatModel, request: ModelRequest) -> bool:
    """Notes what a service does not take; True when the request can be made again without it."""
    said = str((error.extra or {}).get("said"))
    if kind_of(error) == "no_tools" and request.functions:
        refused, memory = "tools", _without_tools
    elif kind_of(error) == "bad_request" and request.form is not None and SCHEMA_WORDS.search(said):
        refused, memory = "schema for the answer", _without_schemas
    else:
        return False
    logger.warning("%s takes no %s; it is put into the prompt's text from now on: %s", model.service, refused, said)
    memory.add(model.service)
    return True


def _attempt(
    model: BaseChatModel, request: ModelRequest, reply: Reply, clock: usage.Clock
) -> Generator[list[Message], None, Outcome]:
    """One request. Every yield is the whole answer so far, what earlier attempts showed included."""
    with limiter_of(model).slot(request.messages, request.functions):
        run = current_run()
        if run is not None:
            run.reserve_model_call()
        listening = run if run is not None and run.sink is not None and request.stream else None
        if listening is not None:
            reply.watch_calls()
        deltas = model.run_request(request)
        try:
            for delta in deltas:
                clock.piece_came()
                grown = reply.feed(delta)
                if listening is not None:
                    _tell_of_calls(listening, reply)
                if grown:
                    yield reply.messages()
                if reply.stopped:
                    break
        finally:
            close = getattr(deltas, "close", None)
            if close is not None:
                close()
        if run is not None:
            run.cancel.raise_if_cancelled()
        messages = reply.finish()
        if listening is not None:
            _tell_of_calls(listening, reply)
    return Outcome(reply, model, usage.record(model.model, reply.usage, request, messages, reply.finish_reason, clock))


def _tell_of_calls(run: RunContext, reply: Reply) -> None:
    for piece in reply.new_arguments():
        run.emit(ToolCallDelta, call_id=piece.call_id, name=piece.name, arguments=piece.text, offset=piece.offset)


def _fitted(model: BaseChatModel, ask: Ask, options: GenerateOptions) -> list[Message]:
    """The conversation, valid and as long as the model bears."""
    messages = one_system_message(repair_history(ask.messages))
    if model.cfg.get("compaction"):
        from qwen_agentkit.llm.compaction import compact

        messages = compact(model, messages, ask.functions)
    limit = bounded_input_tokens(model, options.max_input_tokens, options.max_response_tokens)
    return truncate_input(messages, limit, ask.functions) if limit > 0 else messages


def _prepared(
    model: BaseChatModel,
    ask: Ask,
    options: GenerateOptions,
    rest: dict[str, Any],
    question: Sequence[Message],
    carried: Reply | None,
) -> tuple[ModelRequest, Reply]:
    """The request for one attempt, and the reply that takes its deltas."""
    cfg = merge_generate_cfgs(model.generate_cfg, ask.generate_cfg)
    functions, form = list(ask.functions), ask.form
    if profile_of(model).tools is False:
        if functions:
            _warn_of_tools(model)
        functions, native = [], False
        options = replace(options, function_choice="auto")
        cfg["function_choice"] = "auto"
    else:
        native = model.gives_tools_natively(options) and model.service not in _without_tools
    if native and not functions and "tools" not in rest and any(one.function_call is not None for one in question):
        native = False  # services that are given no tools refuse past calls and results, but not when told in words
    messages = list(question)
    begun = carried.text if carried is not None else ""
    if begun:
        messages.append(Message(ASSISTANT, begun))
    if form is not None:
        way = form_way(model, native, model.service in _without_schemas)
        if way == "tool":
            functions.append(as_function(form))
            if not ask.functions:
                options = replace(options, function_choice=ANSWER_TOOL)
                cfg["function_choice"] = ANSWER_TOOL
        elif way == "prompt":
            messages = with_instruction(messages, instruction(form, ask.lang))
        form = form if way == "native" else None
    lang: Any = ask.lang
    prepared = model._preprocess_messages(messages, lang, cfg, functions or None, use_raw_api=native)
    name = options.fncall_prompt_type or "nous"
    dialect = get_dialect(name)
    continues = is_beginning(prepared) and (bool(begun) or not functions or (dialect.results_in_reply and not native))
    if continues and not (model.takes_beginnings(options) or model.overrides("_continue_assistant_response")):
        prepared, continues = begin_in_prompt(prepared), False
    stop = list(options.stop)
    if functions and not native:
        stop += [word for word in dialect.stop_words if word not in stop]
    request = ModelRequest(
        messages=prepared,
        functions=functions if native else [],
        options=replace(options, stop=stop),
        generate_cfg=rest,
        stream=ask.stream,
        lang=ask.lang,
        continues=continues,
        offered=functions,
        form=form,
    )
    reply = Reply(
        functions=functions,
        dialect=name,
        stop=[] if options.skip_stopword_postproc else stop,
        thought_in_content=options.thought_in_content,
        native_calls=bool(request.functions) or "tools" in rest,
        service=model.service,
        after=carried,
    )
    return request, reply


def _warn_of_tools(model: BaseChatModel) -> None:
    if model.service not in _warned:
        _warned.add(model.service)
        logger.warning("The model %s takes no tools by its profile: it is asked without them", model.model)


def _can_go_on(model: BaseChatModel, options: GenerateOptions, reply: Reply) -> bool:
    """Whether an answer that broke off can be gone on with: text by a service that takes a beginning, thinking alone
    by thinking anew after it."""
    if options.on_broken_stream != "continue" or reply.has_calls:
        return False
    return model.takes_beginnings(options) if reply.text else True
