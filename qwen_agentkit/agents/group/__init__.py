"""Teams: who speaks next, when a talk ends, what each member sees, what is remembered."""

from __future__ import annotations

from qwen_agentkit.utils.lazy import lazy_exports

_WHERE = {
    # who speaks next
    "AmongCandidates": ".selection",
    "ByFunction": ".selection",
    "ByHandoff": ".selection",
    "ByModel": ".model_selection",
    "Choice": ".selection",
    "Hybrid": ".model_selection",
    "Manual": ".selection",
    "RandomSpeaker": ".selection",
    "RoundRobin": ".selection",
    "RoundTable": ".selection",
    "Situation": ".selection",
    "SpeakerSelection": ".selection",
    # when a talk ends
    "ExternalSwitch": ".conditions",
    "FunctionCalled": ".conditions",
    "HandoffTo": ".conditions",
    "MaxMessages": ".conditions",
    "MaxRounds": ".conditions",
    "MaxTokens": ".conditions",
    "Moderator": ".conditions",
    "News": ".termination",
    "Seconds": ".conditions",
    "SourceIs": ".conditions",
    "Stop": ".termination",
    "StopMessage": ".conditions",
    "TerminatedError": ".termination",
    "Termination": ".termination",
    "TextMention": ".conditions",
    "TextMessage": ".conditions",
    "WhenTrue": ".conditions",
    # routing and graphs
    "Edge": ".edges",
    "Rule": ".routing",
    # what is remembered
    "TeamRunning": ".state",
    "TeamState": ".state",
    # looking at teams
    "Finding": ".linter",
    "ScriptedSpeaker": ".rehearsal",
    "check_team": ".linter",
    "load_agent": ".loading",
    "difference": ".transcripts",
    "hands_over": ".rehearsal",
    "read_talk": ".transcripts",
    "rehearse": ".rehearsal",
    "transcript": ".transcripts",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
__all__ = sorted(_WHERE)
