import { useState, type ReactNode } from 'react'
import { showError } from '../app/messages.ts'
import { hrefOf } from '../app/router.ts'
import { client } from '../app/session.ts'
import { useLoad } from '../app/load.ts'
import { useSearch } from '../app/useSearch.ts'
import { Button } from '../ui/Button.tsx'
import { Combobox } from '../ui/Combobox.tsx'
import type { Option } from '../ui/Select.tsx'
import { useCanWork } from './canWork.ts'
import { Heading } from './Heading.tsx'
import { useCard, useOpened } from './openedCard.ts'

/** The maximum number of cards that are listed with their titles. */
const maxTitles = 20

/** The cards that block a card, the cards that it blocks, its parent and its parts. */
export function Dependencies() {
  const opened = useOpened()
  const { projectId } = opened
  const { id: cardId, blocked, blockedBy, blocks, parentId, children, discoveredFromId } = useCard()
  const canWork = useCanWork(projectId)
  const isAlone =
    blockedBy.length + blocks.length + children.total === 0 && parentId === null && discoveredFromId === null
  if (isAlone && !canWork) return null
  const change = async (order: { blockedBy?: string[]; parentId?: string | null }) =>
    opened.setCard(await client.cards.update({ projectId, cardId, ...order }))
  return (
    <section>
      <Heading>Dependencies</Heading>
      {blocked && (
        <p className="notice">
          The card cannot start until these cards are done. In auto mode, the card then starts automatically.
        </p>
      )}
      <CardLinks
        ids={blockedBy}
        onRemove={canWork ? id => change({ blockedBy: blockedBy.filter(each => each !== id) }) : undefined}
      />
      {canWork && (
        <AddCard label="Wait for card" onAdd={id => change({ blockedBy: [...new Set([...blockedBy, id])] })} />
      )}
      {blocks.length > 0 && (
        <Line name="Cards waiting for this card">
          <CardLinks ids={blocks} />
        </Line>
      )}
      {children.total > 0 && <Line name="Parts">{`${children.done} of ${children.total} done`}</Line>}
      {parentId !== null && (
        <Line name="Part of">
          <CardLinks ids={[parentId]} onRemove={canWork ? () => change({ parentId: null }) : undefined} />
        </Line>
      )}
      {canWork && parentId === null && <AddCard label="Part of card" onAdd={id => change({ parentId: id })} />}
      {discoveredFromId !== null && (
        <Line name="Found on">
          <CardLinks ids={[discoveredFromId]} />
        </Line>
      )}
    </section>
  )
}

const Line = ({ name, children }: { name: string; children: ReactNode }) => (
  <div className="card-relation">
    <span className="dim">{name}</span> {children}
  </div>
)

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

/** Finds a card of the project by words or by its number. */
function AddCard({ label, onAdd }: { label: string; onAdd: (id: string) => Promise<unknown> }) {
  const { projectId, cardId } = useOpened()
  const [text, setText] = useState('')
  const found = useSearch(text.trim(), typed => findCards(projectId, typed))
  return (
    <Combobox
      label={label}
      options={found?.filter(([id]) => id !== cardId)}
      onSearch={setText}
      hint="Type words or a number, for example #12."
      onChange={id => void onAdd(id).catch(showError)}
    >
      {label}…
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
