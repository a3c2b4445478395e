/** A page of records, with the cursor of the next page. */
export const page = <R, V>(
  { rows, next }: { rows: readonly R[]; next: number | undefined },
  view: (row: R) => V,
): { items: V[]; nextCursor: string | null } => ({
  items: rows.map(row => view(row)),
  nextCursor: next === undefined ? null : String(next),
})
