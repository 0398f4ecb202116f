"""Decides which units run next. A Schedule is pure: it starts nothing, and is notified which units started and how they
ended.

Two kinds of unit share the cores. A build uses all of them, so one build runs at a time, in the background of the other
units. The others (engines, jobs) mostly wait, and several of them run next to a build: as many as together use
BESIDE_A_BUILD of the cores, by the share of each when its seconds were recorded.
"""

BESIDE_A_BUILD = 0.75
UNKNOWN = {"cpu": 20.0, "wall": 20.0}  # seconds of a unit that was never recorded


class Schedule:
    def __init__(self, units, seconds, cores):
        self.units = {unit.name: unit for unit in units}
        self.seconds = {unit.name: seconds.get(unit.name, UNKNOWN) for unit in units}
        self.cores = cores
        self.waiting = list(self.units)
        self.running = set()
        self.good, self.bad = set(), set()
        self.rest = {}
        for name in reversed(self.units):
            after = [self.rest[other] for other in self.units if name in self.units[other].needs]
            self.rest[name] = self.seconds[name]["wall"] + max(after, default=0)

    def over(self):
        return not self.waiting and not self.running

    def share(self, name):
        """Returns how many cores a unit uses on average."""
        if self.units[name].builds:
            return float(self.cores)
        recorded = self.seconds[name]
        return min(recorded["cpu"] / max(recorded["wall"], 0.1), float(self.cores))

    def blocked(self):
        """Returns (unit, the failed need) for each unit that can no longer run. These units are not waiting any
        more."""
        found = []
        for name in list(self.waiting):
            if failed := [need for need in self.units[name].needs if need in self.bad]:
                self.waiting.remove(name)
                self.bad.add(name)
                found.append((name, failed[0]))
        return found

    def next(self):
        """Returns the unit to start now, or None. The longest chain of units comes first."""
        ready = [name for name in self.waiting if all(self.is_good(need) for need in self.units[name].needs)]
        for name in sorted(ready, key=lambda name: -self.rest[name]):
            if self.fits(name):
                return self.units[name]
        return None

    def is_good(self, need):
        return need in self.good or need not in self.units

    def fits(self, name):
        if not self.running:
            return True
        if self.units[name].alone or any(self.units[other].alone for other in self.running):
            return False
        if self.units[name].builds:
            return not any(self.units[other].builds for other in self.running)
        used = sum(self.share(other) for other in self.running if not self.units[other].builds)
        limit = BESIDE_A_BUILD * self.cores if self.build_is_due() else self.cores
        return used == 0 or used + self.share(name) <= limit

    def build_is_due(self):
        return any(self.units[name].builds for name in {*self.running, *self.waiting})

    def started(self, name):
        self.waiting.remove(name)
        self.running.add(name)

    def ended(self, name, is_good):
        self.running.remove(name)
        (self.good if is_good else self.bad).add(name)
