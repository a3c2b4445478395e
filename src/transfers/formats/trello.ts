import { importError } from '../importErrors.ts'
import type { JsonFile } from '../jsonFile.ts'
import {
  clean,
  fit,
  list,
  record,
  time,
  typeOf,
  Warnings,
  type Draft,
  type DraftCard,
  type Entry,
  type Source,
  type Text,
} from './draft.ts'

/** Trello gives no more actions than this into a file. */
const maxActions = 1000

interface Trello {
  mayMissComments: boolean
  lists: Entry[]
  cards: Entry[]
  checklists: Map<string, Entry[]>
  comments: Map<string, Entry[]>
  people: Map<string, string>
}

/** Reads a board as Trello exports it to JSON. @throws Problem INVALID_IMPORT */
export async function readTrello(file: JsonFile): Promise<Draft> {
  for (const name of ['lists', 'cards'])
    if (!file.names.includes(name)) throw importError(name, 'is required: this is no board that Trello has exported')
  const warnings = new Warnings()
  const board = await readParts(file, warnings)
  const sources = sourcesOf(board.lists)
  const cards = [...board.cards]
    .sort((a, b) => place(a) - place(b))
    .flatMap(card => {
      const source = sources.get(clean(card.idList))
      warnings.count('Cards in a list that is not in the file, left out', source ? 0 : 1)
      return source ? [cardOf(card, source, board, warnings)] : []
    })
  const ids = new Set(board.cards.map(({ id }) => clean(id)))
  for (const [id, comments] of board.comments)
    warnings.count('Comments on cards that are not in the file, left out', ids.has(id) ? 0 : comments.length)
  const used = new Set(cards.map(({ source }) => source))
  return {
    name: file.names.includes('name') ? clean(await file.small('name')) : undefined,
    sources: [...sources.values()].filter(source => source.columnType !== 'archive' || used.has(source)),
    cards,
    warnings: [
      ...(board.mayMissComments
        ? ['Trello exports the newest 1,000 actions only: older comments are not in the file.']
        : []),
      ...warnings.list(),
    ],
  }
}

async function readParts(file: JsonFile, warnings: Warnings): Promise<Trello> {
  const read = async (name: string) => {
    const entries: Entry[] = []
    for await (const { place, value } of file.entries(name)) {
      if (Object.keys(record(value)).length === 0) throw importError(place, 'must be an object')
      entries.push(keepUseful(name, record(value)))
    }
    return entries
  }
  const [lists, cards, checklists, actions, members] = [
    await read('lists'),
    await read('cards'),
    await read('checklists'),
    await read('actions'),
    await read('members'),
  ]
  warnings.count(
    'Actions other than comments, which tell how the board came about, left out',
    actions.filter(({ type }) => type !== 'commentCard').length,
  )
  for (const name of ['customFields', 'pluginData'])
    if (file.names.includes(name))
      warnings.count(
        name === 'customFields' ? 'Custom fields without a place here' : 'Entries of power-ups without a place here',
        (await read(name)).length,
      )
  return {
    mayMissComments: actions.length >= maxActions,
    lists: lists.sort((a, b) => place(a) - place(b)),
    cards,
    checklists: grouped(checklists, ({ idCard }) => clean(idCard)),
    comments: grouped(
      actions.filter(({ type }) => type === 'commentCard'),
      ({ data }) => clean(record(record(data).card).id),
    ),
    people: new Map(members.map(({ id, fullName, username }) => [clean(id), clean(fullName) || clean(username)])),
  }
}

/** Most of a file are actions, which repeat what stands elsewhere. */
function keepUseful(name: string, entry: Entry): Entry {
  if (name !== 'actions') return entry
  return entry.type === 'commentCard'
    ? { type: entry.type, date: entry.date, data: entry.data, memberCreator: entry.memberCreator }
    : {}
}

const place = ({ pos }: Entry) => (typeof pos === 'number' ? pos : 0)

function grouped(entries: readonly Entry[], keyOf: (entry: Entry) => string): Map<string, Entry[]> {
  const groups = new Map<string, Entry[]>()
  for (const entry of entries) {
    const group = groups.get(keyOf(entry))
    if (group) group.push(entry)
    else groups.set(keyOf(entry), [entry])
  }
  return groups
}

/** Lists as columns: those named so are done, else the last one; closed ones are archives. */
function sourcesOf(lists: readonly Entry[]): Map<string, Source> {
  const sources = new Map(
    lists.map(({ id, name, closed }): [string, Source] => {
      const column = (clean(name).trim() || 'Untitled').slice(0, 200).toWellFormed()
      return [clean(id), { key: column, name: column, columnType: closed === true ? 'archive' : typeOf(column) }]
    }),
  )
  const open = [...sources.values()].filter(({ columnType }) => columnType !== 'archive')
  if (open.length > 1 && !open.some(({ columnType }) => columnType === 'done')) open.at(-1)!.columnType = 'done'
  return sources
}

function cardOf(card: Entry, source: Source, board: Trello, warnings: Warnings): DraftCard {
  warnings.count(
    'Attached files that stay with Trello, linked in the prompts',
    list(card.attachments).filter(each => record(each).isUpload === true).length,
  )
  warnings.count('Votes without a place here', list(card.idMembersVoted).length)
  warnings.count('Values of custom fields without a place here', list(card.customFieldItems).length)
  const id = clean(card.id)
  const sections = [
    clean(card.desc),
    facts(card),
    ...checklists(board.checklists.get(id) ?? [], board),
    links(list(card.attachments).map(record)),
  ]
  const labels = list(card.labels)
    .map(record)
    .map(({ name, color }) => clean(name) || color)
  return {
    source,
    isArchived: card.closed === true,
    createdAt: born(id),
    updatedAt: time(card.dateLastActivity),
    dueAt: time(card.due),
    ...fit(
      { title: card.name, sections, labels, assignees: members(card, board, warnings), comments: comments(board, id) },
      warnings,
    ),
  }
}

function members(card: Entry, { people }: Trello, warnings: Warnings): string[] {
  const names = list(card.idMembers).map(id => people.get(clean(id)))
  warnings.count('Members of cards who are not in the file, left out', names.filter(name => !name).length)
  return names.filter(name => name !== undefined)
}

function facts(card: Entry): string {
  const [start, due, url] = [time(card.start), time(card.due), clean(card.shortUrl) || clean(card.url)]
  return [
    start && `Start: ${start}`,
    due && card.dueComplete === true && 'The due date was met.',
    url && `Trello card: ${url}`,
  ]
    .filter(Boolean)
    .join('\n')
}

/** Items are steps of one piece of work: check boxes of the prompt, in which an agent sees them, and no cards of their own. */
const checklists = (lists: readonly Entry[], { people }: Trello) =>
  [...lists]
    .sort((a, b) => place(a) - place(b))
    .map(({ name, checkItems }) => {
      const items = list(checkItems)
        .map(record)
        .sort((a, b) => place(a) - place(b))
        .map(item => {
          const more = [people.get(clean(item.idMember)), time(item.due)].filter(Boolean).join(', ')
          return `- [${item.state === 'complete' ? 'x' : ' '}] ${clean(item.name).replaceAll('\n', ' ')}${more && ` (${more})`}`
        })
      return [`## ${clean(name).trim() || 'Checklist'}`, ...items].join('\n')
    })

const links = (attachments: readonly Entry[]) =>
  attachments.length === 0
    ? ''
    : ['## Attachments', ...attachments.map(({ name, url }) => `- [${clean(name) || clean(url)}](${clean(url)})`)].join(
        '\n',
      )

/** Trello lists the newest first. */
const comments = (board: Trello, id: string): Text['comments'] =>
  [...(board.comments.get(id) ?? [])]
    .sort((a, b) => (clean(a.date) < clean(b.date) ? -1 : 1))
    .map(({ data, date, memberCreator }) => ({
      authorName: clean(record(memberCreator).fullName) || record(memberCreator).username,
      body: record(data).text,
      createdAt: date,
    }))

/** The first eight digits of an id of Trello's are the seconds at which it was made. */
const born = (id: string) =>
  /^[0-9a-f]{24}$/.test(id) ? time(new Date(Number.parseInt(id.slice(0, 8), 16) * 1000).toISOString()) : undefined
