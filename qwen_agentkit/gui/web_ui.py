"""`WebUI`: a web page for an agent, a team or several agents.

WebUI(Assistant(llm={"model": "qwen-max"}, files=["handbook.pdf"])).run()
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files as package_files
from typing import Any

from qwen_agentkit.agent import Agent
from qwen_agentkit.agents.multi_agent_hub import MultiAgentHub
from qwen_agentkit.gui.agents_shown import cast_of
from qwen_agentkit.gui.config import page_config
from qwen_agentkit.log import logger
from qwen_agentkit.schema import Message, messages_from
from qwen_agentkit.utils.listening import bound_socket

# How many threads Gradio may use besides those that watch runs.
_THREADS = 40
_WATCHERS_PER_RUN = 8


class WebUI:
    """The page; nothing happens before `run`.

    Args:
        agent: An agent, a `MultiAgentHub` (a team answers as one; of another hub each agent can be asked), or a list
            of agents to choose from.
        chatbot_config: See `qwen_agentkit.gui.config.page_config`.

    Raises:
        ValueError: There is no agent, several have no name or share one, or a setting is not what it should be.
    """

    def __init__(
        self, agent: Agent | MultiAgentHub | Sequence[Agent], chatbot_config: Mapping[str, Any] | None = None
    ) -> None:
        self.cast = cast_of(agent)
        self.config = page_config(chatbot_config)

    def run(
        self,
        messages: Sequence[Message | dict[str, Any]] | None = None,
        share: bool = False,
        server_name: str | None = None,
        server_port: int | None = None,
        concurrency_limit: int | None = 10,
        enable_mention: bool = False,
        **run_kwargs: Any,
    ) -> None:
        """Serves the page until Ctrl-C.

        Args:
            messages: What every new conversation begins with.
            share: Whether to ask Gradio's own service for a public address. This goes over the internet.
            server_name: Address to listen on; None is this machine alone (127.0.0.1).
            server_port: Port; None is the first free one from 7860 on.
            concurrency_limit: Runs that work at once; None is no bound.
            enable_mention: Whether `@name` in a message chooses the agent that answers.
            **run_kwargs: Given to every run of the agent.

        Raises:
            MissingDependencyError: Gradio is not installed.
            OSError: The address is in use, or none of this machine's.
            QwenAgentKitError: The store of conversations cannot be opened.
        """
        served = self.start(messages, share, server_name, server_port, concurrency_limit, enable_mention, **run_kwargs)
        served.wait()

    def start(
        self,
        messages: Sequence[Message | dict[str, Any]] | None = None,
        share: bool = False,
        server_name: str | None = None,
        server_port: int | None = None,
        concurrency_limit: int | None = 10,
        enable_mention: bool = False,
        **run_kwargs: Any,
    ) -> ServedPage:
        """Serves the page in the background; takes what `run` takes.

        Returns:
            The served page: its `url`, and `close`.
        """
        from qwen_agentkit.gui.conversations import Conversations
        from qwen_agentkit.gui.gradio_dep import load_gradio
        from qwen_agentkit.gui.handlers import Handlers
        from qwen_agentkit.gui.layout import Words, lay_out, page_title
        from qwen_agentkit.gui.live_runs import LiveRuns
        from qwen_agentkit.gui.page import Page
        from qwen_agentkit.gui.routes import PageRoutes
        from qwen_agentkit.gui.users import is_loopback
        from qwen_agentkit.gui.wiring import wire

        if concurrency_limit is not None and concurrency_limit < 1:
            raise ValueError(f"concurrency_limit is at least 1, or None, not {concurrency_limit!r}")
        gr = load_gradio()
        host = server_name or "127.0.0.1"
        # Gradio would try a hundred ports at an address that cannot be, and says nothing of which it was.
        bound_socket(host, server_port or 0).close()
        shared = bool(share) or not is_loopback(host)
        if shared and self.config.auth is None:
            logger.warning("The page can be reached from other machines and asks nobody for a password")
        page = Page(
            self.cast,
            self.config,
            Conversations(self.config.store, messages_from(messages or [])),
            LiveRuns(concurrency_limit),
            run_kwargs,
            enable_mention,
            shared,
        )
        words = Words(gr, self.config.lang)
        with gr.Blocks(analytics_enabled=False, title=page_title(self.cast, self.config), fill_height=True) as blocks:
            widgets = lay_out(gr, self.cast, self.config, words, enable_mention)
            wire(gr, blocks, widgets, Handlers(page, widgets, gr))
        from starlette.middleware import Middleware

        _, url, public_url = blocks.launch(
            server_name=host,
            server_port=server_port,
            share=bool(share),
            auth=self.config.auth,
            prevent_thread_lock=True,
            quiet=True,
            show_error=True,
            ssr_mode=False,
            mcp_server=False,
            pwa=False,
            enable_monitoring=False,
            footer_links=[],
            max_threads=_THREADS + _WATCHERS_PER_RUN * (concurrency_limit or 50),
            max_file_size=self.config.max_file_mb * 1_000_000,
            i18n=words.i18n,
            theme=_theme(gr),
            # Not as `css`: Gradio would bind every rule to its own container, and the drawer lies outside of it.
            head=f"<style>{_asset('page.css')}</style><script>{_asset('page.js')}</script>",
            app_kwargs={
                "docs_url": None,
                "redoc_url": None,
                "openapi_url": None,
                "middleware": [
                    Middleware(PageRoutes, tickets=page.tickets, lang=self.config.lang, local_only=not shared)
                ],
            },
        )
        logger.info("The page is at %s%s", url, f" and {public_url}" if public_url else "")
        return ServedPage(blocks, page, public_url or url)


class ServedPage:
    """A page that is being served.

    Args:
        blocks: Gradio's blocks.
        page: The page behind them.
        url: Its address.
    """

    def __init__(self, blocks: Any, page: Any, url: str) -> None:
        self.blocks = blocks
        self.page = page
        self.url = url

    def wait(self) -> None:
        """Waits for Ctrl-C, then closes."""
        import threading

        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            logger.info("The page is closed")
        finally:
            self.close()

    def close(self) -> None:
        """Stops all runs and the server."""
        self.page.runs.stop_all()
        self.blocks.close()
        self.page.conversations.close()


def _asset(name: str) -> str:
    return package_files("qwen_agentkit.gui").joinpath("assets", name).read_text("utf-8")


def _theme(gr: Any) -> Any:
    """Gradio's plain theme in fonts that every machine has: none is fetched."""
    sans = ["system-ui", "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", "sans-serif"]
    return gr.themes.Default(
        primary_hue="indigo",
        neutral_hue="slate",
        font=sans,
        font_mono=["ui-monospace", "Menlo", "Consolas", "monospace"],
    )
