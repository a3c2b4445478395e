import { useState, type ReactNode } from 'react'
import type { Loaded } from '../app/load.ts'
import { Await } from './Page.tsx'

interface RowsProps<T> {
  of: Loaded<T[]>
  /** The accessible name of the list. */
  label: string
  /** The text of an empty list. */
  empty?: string
  /** Shows details below each row. */
  isStacked?: boolean
  /** The content after the last row. */
  after?: ReactNode
  children: (row: T, at: number, all: readonly T[]) => ReactNode
}

/** A list of loaded rows. */
export const Rows = <T extends { id: string }>({ of, label, empty, isStacked, after, children }: RowsProps<T>) => (
  <Await of={of}>
    {all => (
      <ul className="rows panel" aria-label={label}>
        {all.map((row, at) => (
          <li key={row.id} className={isStacked ? 'stacked' : undefined}>
            {children(row, at, all)}
          </li>
        ))}
        {empty !== undefined && all.length === 0 && <li>{empty}</li>}
        {after}
      </ul>
    )}
  </Await>
)

/** The props of a dialog that edits a row. */
export interface EditProps {
  onClose: () => void
  onSaved: () => Promise<void>
}

/** Opens a dialog that edits a row or creates one. The list is reloaded after the row is saved. */
export function useEditing<T>({ reload }: { reload: () => Promise<void> }) {
  const [edited, edit] = useState<T | 'new'>()
  const onClose = () => edit(undefined)
  const onSaved = async () => {
    onClose()
    await reload()
  }
  return {
    edit,
    add: () => edit('new'),
    isOpen: edited !== undefined,
    /** Undefined when a new row is created. */
    edited: edited === 'new' ? undefined : edited,
    dialog: { onClose, onSaved } satisfies EditProps,
  }
}
