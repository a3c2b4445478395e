import { useState, type ReactNode } from 'react'
import type { Loaded } from '../app/load.ts'
import { Await } from './Page.tsx'

interface RowsProps<T> {
  of: Loaded<T[]>
  /** What they are. */
  label: string
  /** What is said where there are none. */
  empty?: string
  /** Each with its details below it. */
  isStacked?: boolean
  /** What stands below the last one. */
  after?: ReactNode
  children: (row: T, at: number, all: readonly T[]) => ReactNode
}

/** A list of what was read. */
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

/** What a dialog needs to know that edits one of a list. */
export interface EditProps {
  onClose: () => void
  onSaved: () => Promise<void>
}

/** The dialog in which one of a list is edited, or a new one is made: the list is read again once that is saved. */
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
    /** Nothing where a new one is made. */
    edited: edited === 'new' ? undefined : edited,
    dialog: { onClose, onSaved } satisfies EditProps,
  }
}
