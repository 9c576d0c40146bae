// Which memory was forked from which.

// [{m, depth, parent}], each fork below what it was forked from. A name may have been given again since: what is younger
// than its fork is not what that was forked from.
export function forkTree(memories) {
  const parentOf = (m) =>
    memories.find((p) => p.name === m.forked_from && p !== m && p.created_at <= m.created_at) ?? null;
  const placed = new Set();
  const below = (parent, depth) =>
    memories.filter((m) => !placed.has(m) && parentOf(m) === parent).flatMap((m) => {
      placed.add(m);
      return [{ m, depth, parent }, ...below(m, depth + 1)];
    });
  const tree = below(null, 0);
  // Two made in the same second may name each other.
  return [...tree, ...memories.filter((m) => !placed.has(m)).map((m) => ({ m, depth: 0, parent: null }))];
}

// The part of the tree that a memory belongs to.
export function familyOf(memories, name) {
  const families = [];
  for (const entry of forkTree(memories)) {
    if (entry.depth === 0) families.push([]);
    families.at(-1).push(entry);
  }
  return families.find((family) => family.some(({ m }) => m.name === name)) ?? [];
}
