import { useState, type ReactNode } from 'react'
import type { CardDetail } from '../../../src/boardModel/cardCache.ts'
import { showError } from '../app/messages.ts'
import { hrefOf } from '../app/router.ts'
import { client } from '../app/session.ts'
import { useLoad } from '../app/load.ts'
import { useSearch } from '../app/useSearch.ts'
import { Button } from '../ui/Button.tsx'
import { Combobox } from '../ui/Combobox.tsx'
import type { IconName } from '../ui/Icon.tsx'
import type { Option } from '../ui/Select.tsx'
import { useOpened } from './openedCard.ts'
import type { Property } from './Property.tsx'

/** The maximum number of cards that are listed with their titles. */
const maxTitles = 20

interface DependencyState {
  card: CardDetail
  /** Undefined if the user cannot change the card. */
  change: ((order: { blockedBy?: string[]; parentId?: string | null }) => Promise<unknown>) | undefined
}

/** The cards that block a card, the cards that it blocks, its parent and its parts. */
export function dependencyProperties({ card, change }: DependencyState): Property[] {
  const { blocked, blockedBy, blocks, parentId, children, discoveredFromId } = card
  return [
    {
      label: 'Blocked by',
      icon: 'waits',
      isSet: blockedBy.length > 0,
      render: isNew => (
        <>
          <CardLinks
            ids={blockedBy}
            onRemove={change && (id => change({ blockedBy: blockedBy.filter(each => each !== id) }))}
          />
          {change && (
            <AddCard
              label="Blocked by"
              isNew={isNew}
              onAdd={id => change({ blockedBy: [...new Set([...blockedBy, id])] })}
            />
          )}
          {blocked && <p className="hint">The card cannot start until these cards are done.</p>}
        </>
      ),
    },
    {
      label: 'Parent',
      icon: 'parent',
      isSet: parentId !== null,
      render: isNew =>
        parentId === null ? (
          change && <AddCard label="Parent" isNew={isNew} onAdd={id => change({ parentId: id })} />
        ) : (
          <CardLinks ids={[parentId]} onRemove={change && (() => change({ parentId: null }))} />
        ),
    },
    ...derived('Blocks', 'lock', blocks.length > 0 && <CardLinks ids={blocks} />),
    ...derived('Parts', 'check', children.total > 0 && <span>{`${children.done} of ${children.total} done`}</span>),
    ...derived('Found on', 'search', discoveredFromId !== null && <CardLinks ids={[discoveredFromId]} />),
  ]
}

/** A property that other cards determine. */
const derived = (label: string, icon: IconName, value: ReactNode): Property[] =>
  value ? [{ label, icon, isSet: true, render: () => value }] : []

/** Cards by number and title. A card that cannot be read, for example in the trash, shows only its number. */
function CardLinks({ ids, onRemove }: { ids: readonly string[]; onRemove?: (id: string) => Promise<unknown> }) {
  const { projectId } = useOpened()
  const named = ids.slice(0, maxTitles)
  const { value = [] } = useLoad(
    () => Promise.all(named.map(cardId => client.cards.get({ projectId, cardId }).catch(() => undefined))),
    [projectId, named.join()],
  )
  if (ids.length === 0) return null
  return (
    <ul className="card-links">
      {ids.map((id, at) => (
        <li key={id}>
          <a href={hrefOf({ name: 'card', projectId, cardId: id })}>
            #{id} {value[at]?.title}
          </a>
          {value[at]?.columnType === 'done' && <span className="dim"> done</span>}
          {onRemove && <Button isPlain icon="close" label={`Remove card ${id}`} onClick={() => onRemove(id)} />}
        </li>
      ))}
    </ul>
  )
}

interface AddCardProps {
  label: string
  isNew: boolean
  onAdd: (id: string) => Promise<unknown>
}

/** Finds a card of the project by words or by its number. */
function AddCard({ label, isNew, onAdd }: AddCardProps) {
  const { projectId, cardId } = useOpened()
  const [text, setText] = useState('')
  const found = useSearch(text.trim(), typed => findCards(projectId, typed))
  return (
    <Combobox
      label={label}
      options={found?.filter(([id]) => id !== cardId)}
      isOpenAtFirst={isNew}
      onSearch={setText}
      hint="Type a title or a number, for example #12."
      onChange={id => void onAdd(id).catch(showError)}
    >
      Add card…
    </Combobox>
  )
}

async function findCards(projectId: string, typed: string): Promise<Option[]> {
  const cardId = /^#?([1-9]\d{0,15})$/.exec(typed)?.[1]
  const [numbered, found] = await Promise.all([
    cardId === undefined ? undefined : client.cards.get({ projectId, cardId }).catch(() => undefined),
    /[\p{L}\p{N}]/u.test(typed) ? client.search.find({ q: typed, projectId: Number(projectId), limit: 20 }) : [],
  ])
  const cards = [...(numbered ? [numbered] : []), ...found.filter(({ type }) => type === 'card')]
  return [...new Map(cards.map(({ id, title }) => [id, `#${id} ${title}`]))]
}
