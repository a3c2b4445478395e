import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { expect } from 'vitest'
import { Unreachable, type Client } from '../../src/client/index.ts'
import type { Dice } from './dice.ts'

/** The state that a card must have after its acknowledged changes. */
export interface State {
  title: string
  labels: string[]
  columnId: string
  archived: boolean
  deleted: boolean
  version: number
}
/** A card of one writer, the change without a response yet, and the ids of its attachments. */
export interface Entry {
  id: string
  state: State
  pending?: State
  attachments: string[]
}
/** The acknowledged writes of one writer, with its unanswered create. */
export interface Ledger {
  entries: Entry[]
  creating?: { title: string; key: string }
}

export interface Writers {
  ledgers: readonly Ledger[]
  /** Creates `count` cards. */
  fill(client: Client, count: number): Promise<void>
  /** Lets all writers write concurrently until the server ends, and counts the acknowledged writes. */
  write(client: Client, onAcknowledged: () => void): Promise<void>
  /** Expects every acknowledged write. A write without a response can be applied completely or not at all; a create is sent again. */
  expectKept(client: Client): Promise<void>
}

interface Place {
  projectId: string
  columns: readonly string[]
  dice: Dice
  attached: string
  newTitle: () => string
}
const attachedBytes = 45_000

/** @param folder for the file that the writers attach */
export function createWriters(
  count: number,
  dice: Dice,
  folder: string,
  projectId: string,
  columns: readonly string[],
): Writers {
  const ledgers: Ledger[] = Array.from({ length: count }, () => ({ entries: [] }))
  let titles = 0
  const place: Place = {
    projectId,
    columns,
    dice,
    attached: join(folder, 'attached'),
    newTitle: () => `card ${++titles}`,
  }
  writeFileSync(place.attached, 'An attachment. '.repeat(attachedBytes / 15))
  return {
    ledgers,
    fill: async (client, cards) => {
      await Promise.all(
        ledgers.map(async ledger => {
          for (let left = cards / count; left > 0; left--) await create(place, client, ledger)
        }),
      )
    },
    write: async (client, onAcknowledged) => {
      await Promise.all(ledgers.map(ledger => write(place, client, ledger, onAcknowledged)))
    },
    expectKept: client => expectKept(place, client, ledgers),
  }
}

/** Writes until the server ends. */
async function write(place: Place, client: Client, ledger: Ledger, onAcknowledged: () => void): Promise<void> {
  const { dice, projectId, attached } = place
  try {
    for (;;) {
      const entry = dice.pick(ledger.entries)
      if (dice.chance(0.3)) await create(place, client, ledger)
      else if (!entry.state.deleted && dice.chance(0.1))
        entry.attachments.push(
          (await client.attachments.create({ projectId, cardId: entry.id, file: { path: attached } })).id,
        )
      else await change(place, client, entry)
      onAcknowledged()
    }
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error
  }
}

async function create({ projectId, columns, newTitle }: Place, client: Client, ledger: Ledger): Promise<void> {
  ledger.creating ??= { title: newTitle(), key: crypto.randomUUID() }
  const { title, key } = ledger.creating
  const card = await client.cards.create({ projectId, title, columnId: columns[0] }, { idempotencyKey: key })
  ledger.entries.push({
    id: card.id,
    state: { title, labels: [], columnId: card.columnId, archived: false, deleted: false, version: 1 },
    attachments: [],
  })
  ledger.creating = undefined
}

/** Performs a random valid change of the card. */
async function change({ projectId, columns, dice, newTitle }: Place, client: Client, entry: Entry): Promise<void> {
  const { id: cardId, state } = entry
  const ref = { projectId, cardId }
  const does = async (next: Partial<State>, work: () => Promise<unknown>) => {
    entry.pending = { ...state, ...next, version: state.version + 1 }
    await work()
    entry.state = entry.pending
    entry.pending = undefined
  }
  if (state.deleted) return does({ deleted: false }, () => client.cards.restore(ref))
  // A move to the current position is not a change, so its version would be unpredictable: the card always moves to another position.
  const columnId = dice.pick(columns.filter(id => id !== state.columnId))
  const title = newTitle()
  const labels = [dice.pick(['crash', 'Ünïcode', '日本']), `n${dice.between(1, 1_000_000)}`]
  return dice.pick([
    ...Array.from(
      { length: 4 },
      () => () =>
        does({ columnId, archived: false }, () =>
          client.cards.move({ ...ref, columnId, position: dice.between(0, 5000) }),
        ),
    ),
    ...Array.from({ length: 2 }, () => () => does({ title }, () => client.cards.update({ ...ref, title }))),
    ...Array.from({ length: 2 }, () => () => does({ labels }, () => client.cards.update({ ...ref, labels }))),
    () =>
      does({ archived: !state.archived }, () =>
        state.archived ? client.cards.unarchive(ref) : client.cards.archive(ref),
      ),
    () => does({ deleted: true }, () => client.cards.delete(ref)),
  ])()
}

async function expectKept(place: Place, client: Client, ledgers: readonly Ledger[]): Promise<void> {
  for (const ledger of ledgers) if (ledger.creating) await create(place, client, ledger)
  const cards = await allCards(place, client)
  const entries = ledgers.flatMap(ledger => ledger.entries)
  for (const entry of entries) {
    const { id, state, pending } = entry
    const present = cards.get(id) ?? { ...(pending?.deleted ? pending : state), deleted: true }
    const isPossible = [state, ...(pending ? [pending] : [])].some(
      each => JSON.stringify(each) === JSON.stringify(present),
    )
    if (!isPossible)
      expect(present, `card ${id}, whose last change ${pending ? 'was on its way' : 'was acknowledged'}`).toEqual(state)
    Object.assign(entry, { state: present, pending: undefined })
  }
  expect([...cards.keys()].sort()).toEqual(
    entries
      .filter(({ state }) => !state.deleted)
      .map(({ id }) => id)
      .sort(),
  )
  await expectAttached(place, client, entries)
  await expectDense(place, client, cards)
}

async function allCards({ projectId }: Place, client: Client): Promise<Map<string, State>> {
  const lists = await Promise.all(
    [false, true].map(archived =>
      pages(
        cursor => client.cards.list({ projectId, archived, cursor }),
        items => Number(items.at(-1)?.id ?? 0),
      ),
    ),
  )
  return new Map(
    lists
      .flat()
      .map(({ id, title, labels, columnId, archivedAt, version }) => [
        id,
        { title, labels, columnId, archived: archivedAt !== null, deleted: false, version },
      ]),
  )
}

/** A complete list from pages of 1,000; `next` returns the start of the next page. */
async function pages<T>(read: (from: number) => Promise<T[]>, next: (items: T[]) => number): Promise<T[]> {
  const items: T[] = []
  for (let from = 0, page: T[] | undefined; page?.length !== 0; from = next(items))
    items.push(...(page = await read(from)))
  return items
}

/** Expects every attachment in the list, and all bytes of the last one of each card. */
async function expectAttached(
  { projectId, attached }: Place,
  client: Client,
  entries: readonly Entry[],
): Promise<void> {
  const content = readFileSync(attached)
  for (const { id: cardId, attachments } of entries
    .filter(({ state, attachments }) => !state.deleted && attachments.length > 0)
    .slice(-100)) {
    const listed = new Map((await client.attachments.list({ projectId, cardId })).map(({ id, size }) => [id, size]))
    expect(attachments.map(id => listed.get(id))).toEqual(attachments.map(() => attachedBytes))
    const { body } = await client.attachments.download({ attachmentId: attachments.at(-1)! })
    expect((await buffer(body)).equals(content)).toBe(true)
  }
}

/** Expects in each column its cards, at positions without gaps and duplicates. */
async function expectDense(
  { projectId, columns }: Place,
  client: Client,
  cards: ReadonlyMap<string, State>,
): Promise<void> {
  for (const columnId of columns) {
    const items = await pages(
      at => client.cards.list({ projectId, columnId, offset: at }),
      all => all.length,
    )
    expect(items.map(({ position }) => position)).toEqual(items.map((_, at) => at))
    expect(items.map(({ id }) => id).sort()).toEqual(
      [...cards]
        .filter(([, card]) => card.columnId === columnId && !card.archived)
        .map(([id]) => id)
        .sort(),
    )
  }
}
