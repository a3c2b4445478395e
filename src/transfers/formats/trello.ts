import { importError } from '../importErrors.ts'
import type { JsonFile } from '../jsonFile.ts'
import {
  toStorableText,
  fitCardTexts,
  toStorableTime,
  Warnings,
  type ForeignTexts,
} from '../../domain/cards/fitCardTexts.ts'
import { sourceOf } from './cardSource.ts'
import { list, record, typeOf, type Draft, type DraftCard, type Entry, type DraftColumn } from './draft.ts'

/** The maximum number of actions in a file from Trello. */
const maxActions = 1000

interface Trello {
  mayMissComments: boolean
  lists: Entry[]
  cards: Entry[]
  ids: ReadonlySet<string>
  checklists: Map<string, Entry[]>
  comments: Map<string, Entry[]>
  people: Map<string, string>
}

/** Reads a board as Trello exports it to JSON. @throws Problem INVALID_IMPORT */
export async function readTrello(file: JsonFile): Promise<Draft> {
  for (const name of ['lists', 'cards'])
    if (!file.names.includes(name)) throw importError(name, 'is required: this is not an exported Trello board')
  const warnings = new Warnings()
  const board = await readParts(file, warnings)
  const columns = columnsOf(board.lists)
  const listOrder = new Map(board.lists.map(({ id }, index) => [toStorableText(id), index]))
  const listOf = (card: Entry) => listOrder.get(toStorableText(card.idList)) ?? 0
  const cards = [...board.cards]
    .sort((a, b) => listOf(a) - listOf(b) || place(a) - place(b))
    .flatMap(card => {
      const column = columns.get(toStorableText(card.idList))
      const reason = column ? reasonToSkip(card, board) : 'Skipped cards in a list that is not in the file'
      if (reason) warnings.count(reason)
      return column && !reason ? [cardOf(card, column, board, warnings)] : []
    })
  for (const [id, comments] of board.comments)
    warnings.count('Skipped comments on cards that are not in the file', board.ids.has(id) ? 0 : comments.length)
  const used = new Set(cards.map(({ column }) => column))
  return {
    name: file.names.includes('name') ? toStorableText(await file.small('name')) : undefined,
    columns: [...columns.values()].filter(column => column.columnType !== 'archive' || used.has(column)),
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
    'Skipped actions other than comments (the history of the board)',
    actions.filter(({ type }) => type === undefined).length,
  )
  for (const name of ['customFields', 'pluginData'])
    if (file.names.includes(name))
      warnings.count(
        name === 'customFields' ? 'Skipped custom fields' : 'Skipped entries of power-ups',
        (await read(name)).length,
      )
  return {
    mayMissComments: actions.length >= maxActions,
    lists: lists.sort((a, b) => place(a) - place(b)),
    cards,
    ids: new Set(cards.map(({ id }) => toStorableText(id))),
    checklists: groupBy(checklists, ({ idCard }) => toStorableText(idCard)),
    comments: groupBy(
      actions.filter(({ type }) => type !== undefined),
      ({ data }) => toStorableText(record(record(data).card).id),
    ),
    people: new Map(
      [...actions.flatMap(({ people }) => people as Entry[]), ...members].map(entry => [
        toStorableText(entry.id),
        fullName(entry),
      ]),
    ),
  }
}

/** Comments, including those that came with a copy of a card. */
const commentTypes: readonly unknown[] = ['commentCard', 'copyCommentCard']

/**
 * Most of a file consists of actions, which repeat its other parts. Only they have the names of people who have left the board.
 */
function keepUseful(name: string, entry: Entry): Entry {
  if (name !== 'actions') return entry
  const { type, date, data, idMemberCreator } = entry
  const author = record(entry.memberCreator)
  const people = [author, record(entry.member)].filter(person => toStorableText(person.id) && fullName(person))
  return commentTypes.includes(type)
    ? { type, date, data, people, authorName: fullName(author), authorId: toStorableText(idMemberCreator) }
    : { people }
}

const fullName = ({ fullName, username }: Entry): string => toStorableText(fullName) || toStorableText(username)

const place = ({ pos }: Entry) => (typeof pos === 'number' ? pos : 0)

function groupBy(entries: readonly Entry[], keyOf: (entry: Entry) => string): Map<string, Entry[]> {
  const groups = new Map<string, Entry[]>()
  for (const entry of entries) {
    const group = groups.get(keyOf(entry))
    if (group) group.push(entry)
    else groups.set(keyOf(entry), [entry])
  }
  return groups
}

/**
 * Converts lists to columns, with a type that their name suggests. If no open list is a done column, the last one becomes one. Closed lists
 * become archives, separate from open lists of the same name.
 */
function columnsOf(lists: readonly Entry[]): Map<string, DraftColumn> {
  const named = lists.map(({ id, name, closed }) => ({
    id: toStorableText(id),
    name: (toStorableText(name).trim() || 'Untitled').slice(0, 200).toWellFormed(),
    isArchive: closed === true,
  }))
  const openNames = new Set(named.filter(({ isArchive }) => !isArchive).map(({ name }) => name.toLowerCase()))
  const columns = new Map(
    named.map(({ id, name, isArchive }): [string, DraftColumn] => {
      const column = isArchive && openNames.has(name.toLowerCase()) ? `${name.slice(0, 189)} (archived)` : name
      return [id, { key: column, name: column, columnType: isArchive ? 'archive' : typeOf(column) }]
    }),
  )
  const open = [...columns.values()].filter(({ columnType }) => columnType !== 'archive')
  const last = open.at(-1)
  if (open.length > 1 && last?.columnType === 'backlog' && !open.some(({ columnType }) => columnType === 'done'))
    last.columnType = 'done'
  return columns
}

/** A name of one repeated character, which Trello shows as a separator. */
const separator = /^\s*([-\u2010-\u2015\u2500-\u257f_*=~.#])\1{2,}\s*$/u

/** The reason to skip a card. Undefined for a card that is imported. */
function reasonToSkip({ name, cardRole, isTemplate, mirrorSourceId }: Entry, { ids }: Trello): string | undefined {
  if (isTemplate === true) return 'Skipped template cards'
  if (cardRole === 'separator' || separator.test(toStorableText(name))) return 'Skipped separators'
  return cardRole === 'mirror' && ids.has(toStorableText(mirrorSourceId))
    ? 'Skipped mirrors of cards in the file'
    : undefined
}

function cardOf(card: Entry, column: DraftColumn, board: Trello, warnings: Warnings): DraftCard {
  warnings.count(
    'Attached files that remain in Trello, linked in the prompts',
    list(card.attachments).filter(each => record(each).isUpload === true).length,
  )
  warnings.count('Skipped votes', list(card.idMembersVoted).length)
  warnings.count('Skipped values of custom fields', list(card.customFieldItems).length)
  const id = toStorableText(card.id)
  const sections = [
    toStorableText(card.desc),
    facts(card),
    ...checklists(board.checklists.get(id) ?? [], board),
    links(list(card.attachments).map(record)),
  ]
  const labels = list(card.labels)
    .map(record)
    .map(({ name, color }) => toStorableText(name) || color)
  return {
    column,
    source: sourceOf('trello', id, toStorableText(card.shortUrl) || toStorableText(card.url)),
    isArchived: card.closed === true || column.columnType === 'archive',
    createdAt: born(id),
    updatedAt: toStorableTime(card.dateLastActivity),
    dueAt: toStorableTime(card.due),
    ...fitCardTexts(
      { title: card.name, sections, labels, assignees: members(card, board, warnings), comments: comments(board, id) },
      warnings,
    ),
  }
}

function members(card: Entry, { people }: Trello, warnings: Warnings): string[] {
  const names = list(card.idMembers).map(id => people.get(toStorableText(id)))
  warnings.count('Skipped card members who are not in the file', names.filter(name => !name).length)
  return names.filter(name => name !== undefined)
}

function facts(card: Entry): string {
  const [start, due, url] = [
    toStorableTime(card.start),
    toStorableTime(card.due),
    toStorableText(card.shortUrl) || toStorableText(card.url),
  ]
  return [
    start && `Start: ${start}`,
    due && card.dueComplete === true && 'The due date was met.',
    url && `Trello card: ${url}`,
  ]
    .filter(Boolean)
    .join('\n')
}

/** Items of a checklist are steps of one task, so they become check boxes of the prompt, which an agent sees, instead of separate cards. */
const checklists = (lists: readonly Entry[], { people }: Trello) =>
  [...lists]
    .sort((a, b) => place(a) - place(b))
    .map(({ name, checkItems }) => {
      const items = list(checkItems)
        .map(record)
        .sort((a, b) => place(a) - place(b))
        .map(item => {
          const more = [people.get(toStorableText(item.idMember)), toStorableTime(item.due)].filter(Boolean).join(', ')
          return `- [${item.state === 'complete' ? 'x' : ' '}] ${toStorableText(item.name).replaceAll('\n', ' ')}${more && ` (${more})`}`
        })
      return [`## ${toStorableText(name).trim() || 'Checklist'}`, ...items].join('\n')
    })

const links = (attachments: readonly Entry[]) =>
  attachments.length === 0
    ? ''
    : [
        '## Attachments',
        ...attachments.map(
          ({ name, url }) => `- [${toStorableText(name) || toStorableText(url)}](${toStorableText(url)})`,
        ),
      ].join('\n')

/** Trello lists the newest comment first. */
const comments = ({ comments, people }: Trello, id: string): ForeignTexts['comments'] =>
  [...(comments.get(id) ?? [])]
    .sort((a, b) => (toStorableText(a.date) < toStorableText(b.date) ? -1 : 1))
    .map(({ data, date, authorName, authorId }) => ({
      authorName: authorName || people.get(toStorableText(authorId)) || 'Former member',
      body: record(data).text,
      createdAt: date,
    }))

/** The first eight digits of a Trello ID are the seconds of its creation. */
const born = (id: string) =>
  /^[0-9a-f]{24}$/.test(id)
    ? toStorableTime(new Date(Number.parseInt(id.slice(0, 8), 16) * 1000).toISOString())
    : undefined
