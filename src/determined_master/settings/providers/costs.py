"""Prices and budgets of a provider's settings: checks, and the file of prices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.errors import InvalidArgument
from determined_master.domain.machines.cost import allowed
from determined_master.settings.yaml_text import parse_yaml
from determined_wire.settings_reader import SettingsError, read_text

if TYPE_CHECKING:
    from determined_master.settings.providers.provider import Provider

MAX_PRICE = 10_000
"""Dollars an hour; a higher price is a mistake."""
MAX_COST = 10_000_000
"""Dollars an hour of a pool; a higher budget is a mistake."""
_PRICE_KEYS = ("on_demand", "spot")


def check_costs(provider: Provider, at: str, report: ProblemReport) -> None:
    """Report prices and budgets that are no amounts, or with which no machine could ever start.

    Args:
        provider: as given.
        at: its path in the settings.
        report: takes the problems.
    """
    is_valid = True
    for name in ("price_per_hour", "max_price"):
        price = getattr(provider, name)
        if price is not None and not 0 <= price <= MAX_PRICE:
            text = f"must be from 0 to {MAX_PRICE} dollars but found {price:g}"
            report.problem(f"{at}.{name}", text)
            is_valid = False
    _check_prices(provider.prices, f"{at}.prices", report)
    if is_valid and not report.has_problem_at(f"{at}.prices"):
        _check_budget(provider, at, report)


def with_prices_of_file(provider: Provider, at: str, report: ProblemReport) -> Provider:
    """The provider with the prices of its `prices_file` for types that have no given one.

    Args:
        provider: as given.
        at: its path in the settings.
        report: takes the problems of the file.
    """
    where = f"{at}.prices_file"
    if not provider.prices_file:
        return provider
    try:
        text = read_text(provider.prices_file, is_explicit=True) or ""
        content = parse_yaml(text).value
    except SettingsError as error:
        report.problem(where, str(error))
        return provider
    except InvalidArgument as error:
        report.problem(where, f"{provider.prices_file}: {error}")
        return provider
    prices = content.get("prices") if isinstance(content, Mapping) else None
    if not isinstance(prices, Mapping):
        text = f"{provider.prices_file} has no map `prices` of machine types and dollars an hour"
        report.problem(where, text)
        return provider
    _check_prices(prices, where, report)
    if report.has_problem_at(where) or provider.price_per_hour is not None:
        return provider
    types = {offer.machine_type for offer in provider.offers}
    used = {name: price for name, price in prices.items() if name in types}
    return replace(provider, prices={**used, **provider.prices})


def _check_prices(prices: Mapping[str, Any], at: str, report: ProblemReport) -> None:
    """Report prices that are no numbers of dollars."""
    for name, entry in prices.items():
        values = entry if isinstance(entry, Mapping) else {"": entry}
        for key, price in values.items():
            where = f"{at}.{name}.{key}" if key else f"{at}.{name}"
            if key and key not in _PRICE_KEYS:
                report.problem(where, f"unknown option; prices are of {' and '.join(_PRICE_KEYS)}")
            elif isinstance(price, bool) or not isinstance(price, (int, float)):
                report.problem(where, f"must be dollars an hour, a number, but found {price!r}")
            elif not 0 <= price <= MAX_PRICE:
                text = f"must be from 0 to {MAX_PRICE} dollars but found {price:g}"
                report.problem(where, text)


def _check_budget(provider: Provider, at: str, report: ProblemReport) -> None:
    """Report prices and budgets with which no machine could ever start."""
    offers, bound, budget = provider.offers, provider.max_price, provider.max_cost_per_hour
    if bound is not None and offers and not allowed(offers, bound):
        costs = [o.price_per_hour for o in offers if o.price_per_hour is not None]
        finding = f"the cheapest costs {min(costs):g}" if costs else "no price is known"
        text = f"leaves no machine type: it is {bound:g} dollars an hour, and {finding}; raise it"
        report.problem(f"{at}.max_price", text)
        return
    if budget is None:
        return
    price = provider.highest_price
    if not 0 < budget <= MAX_COST:
        text = f"must be above 0 and at most {MAX_COST} dollars an hour but found {budget:g}"
    elif price is None:
        text = (
            "needs the price of every machine type, and one is unknown: set price_per_hour, or "
            "max_price, which excludes types without a price"
        )
    elif provider.max_machines < max(1, provider.min_instances):
        text = (
            f"is {budget:g} dollars an hour and pays for {provider.max_machines} machines of up "
            f"to {price:g}: raise it, or lower min_instances ({provider.min_instances}) or "
            "max_price"
        )
    else:
        return
    report.problem(f"{at}.max_cost_per_hour", text)
