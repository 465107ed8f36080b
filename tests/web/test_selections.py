"""Which jobs a `select` means: those that it names, and never all of them by accident."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.web.conftest import Server

# What a script sends whose variable is not set, or that puts together its query wrongly.
NAMES_NOTHING = (
    *("", "?", "&", "   ", "status=", "status=,", "status= ", "project=", "sweep=", "q=", "q=%20", "name="),
    *("since=", "older_than=", "failed=", "failed=false", "project", "project=a&status=", "status=queued&q="),
    *("all=", "all=false", "all=yes", "all=true&project="),
)


@pytest.mark.parametrize("select", NAMES_NOTHING)
def test_a_selection_that_names_nothing_or_half_of_it_is_refused(idle: Server, select: str) -> None:
    refused = idle.post("/jobs/actions", {"action": "kill", "select": select}, 400)
    assert "all=true" in refused["error"]["sentence"] or "is empty" in refused["error"]["sentence"]


def test_a_text_that_no_job_can_have_matches_none_and_all_are_meant_when_it_says_so(server: Server) -> None:
    server.post("/queue/pause")
    ids = server.add("true\ntrue")
    for text in ("\0", "a\0", "%\0", "\0true"):
        assert server.get("/jobs", q=text)["items"] == []
        assert server.get("/jobs", q=text)["counts"] == {}
        for word in ("q", "name"):
            body = {"action": "kill", "select": f"{word}={quote(text)}"}
            assert server.post("/jobs/actions", body)["done"] == []
    assert server.post("/jobs/actions", {"action": "kill", "select": "q=\0"})["done"] == []
    assert server.get("/jobs", name="*\0")["items"] == []
    assert server.post("/jobs/actions", {"action": "hold", "select": "all=true"})["done"] == ids
    both = {"action": "hold", "select": "all=true&status=queued"}
    assert "Use all=true alone" in server.post("/jobs/actions", both, 400)["error"]["sentence"]


def test_a_project_without_a_name_is_not_the_whole_queue(idle: Server) -> None:
    for verb in ("pause", "resume"):
        assert "project" in idle.post(f"/queue/{verb}", {"project": ""}, 400)["error"]["sentence"]
