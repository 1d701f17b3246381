"""The two-way links between nodes and tensors.

`node.inputs.append(t)` also puts the node into `t.outputs`, and so on for every way a list can change. The same contract as
graphsurgeon's SynchronizedList, in half its memory, by identity, and right for slices.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, SupportsIndex


class Links(list[Any]):
    """One side of the links of `parent_obj`; `field_name` is the list on the other side."""

    __slots__ = ("field_name", "parent_obj")

    def __init__(self, parent_obj: Any, field_name: str, initial: Iterable[Any] = ()) -> None:
        self.parent_obj = parent_obj
        self.field_name = field_name
        self.extend(initial)

    def _join(self, element: Any) -> None:
        list.append(getattr(element, self.field_name), self.parent_obj)

    def _part(self, element: Any) -> None:
        other: list[Any] = getattr(element, self.field_name)
        parent = self.parent_obj
        for position, item in enumerate(other):
            if item is parent:
                list.__delitem__(other, position)
                return

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, slice):
            values = list(value)
            for element in self[index]:
                self._part(element)
            list.__setitem__(self, index, values)
            for element in values:
                self._join(element)
            return
        self._part(self[index])
        list.__setitem__(self, index, value)
        self._join(value)

    def __delitem__(self, index: SupportsIndex | slice) -> None:
        for element in self[index] if isinstance(index, slice) else (self[index],):
            self._part(element)
        list.__delitem__(self, index)

    def append(self, element: Any) -> None:
        list.append(self, element)
        self._join(element)

    def extend(self, elements: Iterable[Any]) -> None:
        added = list(elements)
        list.extend(self, added)
        for element in added:
            self._join(element)

    def insert(self, index: SupportsIndex, element: Any) -> None:
        list.insert(self, index, element)
        self._join(element)

    def remove(self, element: Any) -> None:
        for position, item in enumerate(self):
            if item is element:
                del self[position]
                return
        raise ValueError("not in this list of links")

    def pop(self, index: SupportsIndex = -1) -> Any:
        element = list.pop(self, index)
        self._part(element)
        return element

    def clear(self) -> None:
        for element in self:
            self._part(element)
        list.clear(self)

    def __iadd__(self, elements: Iterable[Any]) -> Links:
        self.extend(elements)
        return self

    def __add__(self, elements: Iterable[Any]) -> list[Any]:
        return [*self, *elements]

    def copy(self) -> list[Any]:
        return list(self)

    def __copy__(self) -> list[Any]:
        return list(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return list(self)

    def __reduce__(self) -> Any:
        raise TypeError("links between nodes and tensors are not pickled: save the model instead")
