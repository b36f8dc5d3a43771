"""What every response gets: the API's one shape of error, and no copy of private pages in shared caches."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.shortcuts import render
from whitenoise.middleware import WhiteNoiseMiddleware

from dashboard.problems import Problem

GetResponse = Callable[[HttpRequest], HttpResponseBase]
API_PREFIX = "/api/"
TITLES = {403: "Not allowed", 404: "Nothing here", 409: "Not now", 410: "Deleted", 507: "The disk is full"}
COMPRESSED_TYPES = (
    "text/html",
    "text/css",
    "text/javascript",
    "application/javascript",
    "application/json",
    "image/svg",
)
KEPT_HEADERS = ("Allow", "Retry-After", "WWW-Authenticate")


class Compressed(GZipMiddleware):
    """Pages, answers and scripts by gzip. Bundles stay as they are, and so does what goes out while it is made."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        is_text = response.headers.get("Content-Type", "").startswith(COMPRESSED_TYPES)
        if response.status_code != 200 or not is_text or response.streaming:
            return response
        return super().process_response(request, response)


class StaticFiles(WhiteNoiseMiddleware):
    """Each whole: none is large, and Django would complain of a file that it has to read all of to send it."""

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:
        found = WhiteNoiseMiddleware.serve(static_file, request)
        with closing(found):
            whole = HttpResponse(b"".join(found.streaming_content), status=found.status_code)
        whole.headers = found.headers
        return whole


class ApiErrors:
    """Errors that Django makes itself (404, 405, CSRF, 500) leave /api/ in the API's own shape."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if response.status_code < 400 or not request.path_info.startswith(API_PREFIX):
            return response
        if response.headers.get("Content-Type", "").startswith("application/json"):
            return response
        shaped = problem_response(Problem(response.status_code))
        for header in KEPT_HEADERS:
            if header in response.headers:
                shaped.headers[header] = response.headers[header]
        return shaped


class Problems:
    """What a page cannot do, it says: a Problem raised in a view becomes a page, or JSON for a script that asked."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        from dashboard.api.failures import problem_of

        problem = problem_of(error)
        if problem.status in (403, 404, 500) and not isinstance(error, Problem):
            return None
        return problem_page(request, problem) if _wants_page(request) else problem_response(problem)


class Payloads:
    """What recordings say is closed to a request until its person is admitted."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        from dashboard import payloads

        with payloads.closed(request):
            return self.get_response(request)


class PrivateByDefault:
    """What a person sees stays out of shared caches, and is asked for again after logging out."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if "Cache-Control" not in response.headers:
            response.headers["Cache-Control"] = "private, no-cache"
        return response


def problem_page(request: HttpRequest, problem: Problem) -> HttpResponse:
    title = TITLES.get(problem.status, "This cannot be done")
    context = {"title": title, "message": problem.message}
    return render(request, "problem.html", context, status=problem.status)


def _wants_page(request: HttpRequest) -> bool:
    return "text/html" in request.headers.get("Accept", "")


def problem_response(problem: Problem) -> HttpResponse:
    response = JsonResponse(problem.body(), status=problem.status, json_dumps_params={"ensure_ascii": False})
    if problem.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response
