"""Signing a browser in: a key, or the one-time link of ``theanine open``, becomes a cookie."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from theanine_server.access import find_principal
from theanine_server.bodies import JsonBody, JsonRoute
from theanine_server.browsers import delete_cookie, set_cookie
from theanine_server.context import Principal
from theanine_server.problems import Refused, responses
from theanine_server.state import State

router = APIRouter(prefix="/v1/session", route_class=JsonRoute, tags=["service"])


class SignIn(BaseModel, extra="forbid"):
    """Credentials of a browser."""

    token: str = Field(
        min_length=1, max_length=1_000, description="A key, or the secret of a one-time link."
    )


@router.post("", responses=responses())
async def sign_in(
    request: Request, state: State, response: Response, asked: JsonBody[SignIn]
) -> Principal:
    """Sign a browser in by a cookie, which counts with the header `Theanine-Page`."""
    if state.own_browser is not None:
        session = state.own_browser.sign_in(asked.token)
        if session is None:
            raise Refused(
                401, "link_used", "the link was used before: run `theanine open` for a new one"
            )
        set_cookie(request, response, session)
        return Principal()
    principal = await find_principal(state, asked.token)
    set_cookie(request, response, asked.token)
    return principal


@router.delete("", status_code=204)
async def sign_out(request: Request, response: Response) -> None:
    """Have the browser forget its cookie. Needs no key."""
    delete_cookie(request, response)
