import type { KeyboardEvent } from 'react'
import { inboxKinds, type InboxKind } from '../../../src/contract/cards/inboxKinds.ts'
import { bindingOf, keymapOf } from '../../../src/boardModel/keymap.ts'
import { keyName } from '../app/keyName.ts'
import { firstQuery, inbox, inboxQuery, markInbox, type InboxItem as Item, type InboxQuery } from '../app/inbox.ts'
import type { Project } from '../app/projects.ts'
import { shortcuts } from '../app/settings.ts'
import { useStore } from '../app/store.ts'
import { Button } from '../ui/Button.tsx'
import { Select, type Option } from '../ui/Select.tsx'
import { InboxItem } from './InboxItem.tsx'

/** The server lists no more at once. */
const maxItems = 1000
/** The heading of each kind, in the order of the page: waiting agents come first. */
const headings: Record<InboxKind, string> = {
  question: 'Questions',
  silent: 'Silent agents',
  budget: 'Paused by a budget',
  failed: 'Failed',
  gate: 'Waiting for gates',
  review: 'Reviews',
  due: 'Due',
  mention: 'Mentions',
  comment: 'Comments',
  assigned: 'Assigned to you',
}
const states: readonly Option<InboxQuery['state']>[] = [
  ['open', 'Open'],
  ['snoozed', 'Snoozed'],
  ['done', 'Done'],
]
const kinds: readonly Option<InboxKind | ''>[] = [
  ['', 'All reasons'],
  ...inboxKinds.map(kind => [kind, headings[kind]] as const),
]
const emptyTexts: Record<InboxQuery['state'], string> = {
  open: 'Your inbox is empty.',
  snoozed: 'No snoozed items.',
  done: 'No items are marked as done.',
}

/** The inbox over all projects, grouped by kind. */
export function Inbox({ all }: { all: readonly Project[] }) {
  const known = useStore(inbox)
  const query = useStore(inboxQuery)
  const items = known?.items ?? []
  const count = known?.unread ?? 0
  return (
    <section className="inbox" aria-labelledby="inbox" onKeyDown={runKey}>
      <div className="item-head">
        <h2 id="inbox">Inbox{count > 0 && ` (${count})`}</h2>
        <Filters all={all} query={query} />
        {query.state === 'open' && items.length > 0 && <MarkAll items={items} query={query} />}
      </div>
      {items.length === 0 && <p className="dim">{known ? emptyTexts[query.state] : 'Loading…'}</p>}
      {inboxKinds.map(kind => (
        <Group key={kind} kind={kind} items={items.filter(item => item.kind === kind)} all={all} />
      ))}
      {known && known.nextCursor !== null && query.limit < maxItems && (
        <Button onClick={() => inboxQuery.set({ ...query, limit: query.limit * 2 })}>Show more</Button>
      )}
    </section>
  )
}

function Filters({ all, query }: { all: readonly Project[]; query: InboxQuery }) {
  const set = (change: Partial<InboxQuery>) => inboxQuery.set({ ...query, ...change, limit: firstQuery.limit })
  const projects: Option[] = [['', 'All projects'], ...all.map(({ id, name }) => [id, name] as const)]
  return (
    <div className="tools">
      <Select label="State" value={query.state} options={states} onChange={state => set({ state })} />
      <Select
        label="Reason"
        value={query.kind ?? ''}
        options={kinds}
        onChange={kind => set({ kind: kind || undefined })}
      />
      <Select
        label="Project"
        value={query.projectId ?? ''}
        options={projects}
        onChange={projectId => set({ projectId: projectId || undefined })}
      />
    </div>
  )
}

/** Newer items, which the person has not seen, stay. */
function MarkAll({ items, query: { kind, projectId } }: { items: readonly Item[]; query: InboxQuery }) {
  const createdUntil = items.reduce((latest, { createdAt }) => (createdAt > latest ? createdAt : latest), '')
  const mark = (state: 'read' | 'done') => markInbox({ all: true, kind, projectId, createdUntil, state })
  return (
    <div className="tools">
      <Button onClick={() => mark('read')}>Mark all as read</Button>
      <Button onClick={() => mark('done')}>Mark all as done</Button>
    </div>
  )
}

function Group({ kind, items, all }: { kind: InboxKind; items: readonly Item[]; all: readonly Project[] }) {
  if (items.length === 0) return null
  return (
    <>
      <h3>{headings[kind]}</h3>
      <ul className="items" aria-label={headings[kind]}>
        {items.map(item => (
          <InboxItem key={item.id} item={item} project={all.find(({ id }) => id === item.projectId)} />
        ))}
      </ul>
    </>
  )
}

/** Moves the focus between the items, and marks the focused one as done, with the keys of the board. */
function runKey(event: KeyboardEvent<HTMLElement>): void {
  if ((event.target as Element).closest('input, textarea, [role=combobox]')) return
  const action = bindingOf(keymapOf(shortcuts.get()), [keyName(event)])
  if (action !== 'down' && action !== 'up' && action !== 'archive') return
  const items = [...event.currentTarget.querySelectorAll<HTMLElement>('.item')]
  const at = items.findIndex(item => item.contains(document.activeElement))
  const next = items[action === 'up' ? Math.max(0, at - 1) : at + 1] ?? items[at - 1]
  event.preventDefault()
  if (action === 'archive') items[at]?.querySelector<HTMLElement>('[data-done]')?.click()
  next?.querySelector('a')?.focus()
}
