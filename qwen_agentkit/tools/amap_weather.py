"""`amap_weather`: the weather in a Chinese city or district, from AMap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qwen_agentkit.errors import ToolServiceError
from qwen_agentkit.tools.base import BaseTool, register_tool
from qwen_agentkit.tools.service import ask_service, service_key
from qwen_agentkit.utils.environment import environment

_SERVER = "https://restapi.amap.com"
_KEYS = "https://lbs.amap.com/api/webservice/guide/create-project/get-key"


@register_tool("amap_weather")
class AmapWeather(BaseTool):
    """The weather now.

    Args:
        cfg: `token`, AMap's key, else `AMAP_TOKEN` in the environment; `url`, another server of the same protocol.
            A missing key is said when the tool is called.
    """

    description = "获取中国某个城市或区县的实时天气。The current weather in a city or district of China."
    parameters = {
        "type": "object",
        "properties": {
            "location": {
                "type": "string",
                "description": "城市或区县的名称，例如“北京市海淀区”写作“海淀区”。"
                "Name of the city or district, in Chinese.",
            }
        },
        "required": ["location"],
    }

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        super().__init__(cfg)
        self.url: str = (self.cfg.get("url") or environment("AMAP_URL", plain=True) or _SERVER).rstrip("/")

    def call(self, params: str | dict[str, Any], **kwargs: Any) -> str:
        """The weather as one sentence, in the language of the run (`lang`), Chinese by default.

        Raises:
            ToolServiceError: No key, an unknown place, or the service failed.
        """
        location = self._verify_json_format_args(params)["location"].strip()
        lives = self._ask("/v3/weather/weatherInfo", city=self._code_of(location)).get("lives")
        if not isinstance(lives, list) or not lives or not isinstance(lives[0], Mapping):
            raise ToolServiceError(None, "bad_reply", f"AMap has no weather for {location}")
        weather, degrees = lives[0].get("weather", ""), lives[0].get("temperature", "")
        if kwargs.get("lang") == "en":
            return f"Weather in {location}: {weather}, {degrees} degrees Celsius."
        return f"{location}的天气是{weather}温度是{degrees}度。"

    def _code_of(self, location: str) -> str:
        """AMap's number of a city or district."""
        reply = self._ask("/v3/config/district", keywords=location, subdistrict=0, extensions="base")
        districts = reply.get("districts") or []
        codes = [one.get("adcode") for one in districts if isinstance(one, Mapping)]
        exact = [one.get("adcode") for one in districts if isinstance(one, Mapping) and one.get("name") == location]
        for code in (*exact, *codes):
            if isinstance(code, str) and code:
                return code
        raise ToolServiceError(None, "unknown_place", f"AMap knows no city or district named {location}")

    def _ask(self, path: str, **params: Any) -> Mapping[str, Any]:
        key = service_key("amap_weather", self.cfg.get("token"), "AMAP_TOKEN", _KEYS)
        reply = ask_service(self.url + path, params={**params, "key": key}).json()
        if not isinstance(reply, Mapping) or str(reply.get("status")) != "1":
            info = reply.get("info", "no reason given") if isinstance(reply, Mapping) else "no JSON object"
            raise ToolServiceError(None, "service", f"AMap refused the question: {info}")
        return reply
