import type { Doc } from './files.ts'

/** The expected card for a card of another program. */
export interface Expected {
  title: string
  column: string
  labels: string[]
  assignees: string[]
  dueAt: string | null
  creatorName: string | null
  isArchived: boolean
  /** The parts of the prompt, in this order. */
  prompt: string[]
  comments: Array<[author: string, at: string, body: string]>
}
interface Made {
  file: unknown
  cards: Expected[]
  warnings: string[]
}

/** Pseudorandom numbers that are equal in every run. */
function dice(seed: number) {
  let state = seed
  const next = () => (state = (state * 1_103_515_245 + 12_345) & 0x7fffffff) / 0x7fffffff
  const below = (bound: number) => Math.floor(next() * bound)
  return {
    below,
    one: <T>(values: readonly T[]): T => values[below(values.length)]!,
    some: <T>(values: readonly T[], maxCount: number): T[] => {
      const start = below(values.length)
      return Array.from({ length: below(maxCount + 1) }, (_, at) => values[(start + at) % values.length]!)
    },
    at: () => new Date(Date.UTC(2024, below(12), 1 + below(28), below(24), below(60), below(60))).toISOString(),
  }
}

const words = ['Fix', 'the', 'login', '"quotes"', 'ünïcödé', '😀', '**bold**', '<script>', '\\slash', '@[x](1)', 'Ω']
const labels = ['bug', 'area: login', 'häßlich', 'later', 'v2']
const people = ['Ada Lovelace', 'Grace Hopper', 'Łukasz', 'Ж. Петрова', "O'Brien"]

type Dice = ReturnType<typeof dice>
const sentence = ({ one, below }: Dice, name: string) =>
  `${name} ${Array.from({ length: 2 + below(6) }, () => one(words)).join(' ')}`
const text = (from: Dice, name: string) =>
  Array.from({ length: 1 + from.below(4) }, (_, at) => sentence(from, `${name}.${at}`)).join('\n\n')

/** A board in the format of a Trello export. */
export function trelloBoard(count: number): Made {
  const from = dice(7)
  const id = (number: number) => `65a3f0${number.toString(16).padStart(18, '0')}`
  const lists = ['Ideas', 'Doing', 'Done', 'Old'].map((name, at) => ({
    id: `list${at}`,
    name,
    pos: at,
    closed: name === 'Old',
  }))
  const members = people.map((fullName, at) => ({ id: `member${at}`, fullName, username: `user${at}` }))
  const [cards, checklists, actions, expected]: [Doc[], Doc[], Doc[], Expected[]] = [[], [], [], []]
  let [votes, customs, uploads] = [0, 0, 0]
  for (let number = 0; number < count; number++) {
    const [list, given] = [from.one(lists), from.some(members, 3)]
    const title = sentence(from, `Card ${number}`)
    const [desc, dueAt] = [from.below(3) > 0 ? text(from, 'd') : '', from.below(2) > 0 ? from.at() : null]
    const items = Array.from({ length: from.below(4) }, (_, at) => ({
      name: sentence(from, `item ${at}`),
      state: from.one(['complete', 'incomplete']),
      pos: at,
    }))
    const links = from.below(4) === 0 ? [{ name: 'brief', url: `https://example.org/${number}`, isUpload: true }] : []
    const said = Array.from({ length: from.below(4) }, () => ({
      by: from.one(members),
      at: from.at(),
      body: text(from, 'c'),
    })).sort((a, b) => (a.at < b.at ? -1 : 1))
    const [voters, values] = [from.below(9) === 0 ? ['member0'] : [], from.below(9) === 0 ? [{ value: 1 }] : []]
    votes += voters.length
    customs += values.length
    uploads += links.length
    const isClosed = from.below(10) === 0
    const cardLabels = from.some(labels, 3)
    cards.push({
      id: id(number),
      idList: list.id,
      name: title,
      desc,
      pos: number,
      closed: isClosed,
      idMembers: given.map(({ id: memberId }) => memberId),
      due: dueAt,
      dueComplete: from.below(2) > 0,
      labels: cardLabels.map(name => ({ name, color: 'red' })),
      attachments: links,
      idMembersVoted: voters,
      customFieldItems: values,
      shortUrl: `https://trello.com/c/${number}`,
      dateLastActivity: from.at(),
    })
    if (items.length > 0) checklists.push({ idCard: id(number), name: `List ${number}`, checkItems: items, pos: 0 })
    // The newest comments come first.
    for (const { by, at, body } of said.toReversed())
      actions.push({ type: 'commentCard', date: at, data: { text: body, card: { id: id(number) } }, memberCreator: by })
    actions.push({ type: 'createCard', date: from.at(), data: { card: { id: id(number) } } })
    expected.push({
      title,
      column: list.name,
      labels: cardLabels,
      assignees: given.map(({ fullName }) => fullName),
      dueAt,
      creatorName: null,
      isArchived: isClosed || list.closed,
      prompt: [
        ...(desc === '' ? [] : [desc]),
        `https://trello.com/c/${number}`,
        ...items.map(({ name, state }) => `- [${state === 'complete' ? 'x' : ' '}] ${name}`),
        ...links.map(({ name, url }) => `[${name}](${url})`),
      ],
      comments: said.map(({ by, at, body }) => [by.fullName, at, body]),
    })
  }
  return {
    file: { name: 'Many', lists, cards, checklists, actions, members },
    // The import creates cards list by list.
    cards: lists.flatMap(({ name }) => expected.filter(({ column }) => column === name)),
    warnings: [
      `Skipped actions other than comments (the history of the board): ${count}.`,
      `Attached files that remain in Trello, linked in the prompts: ${uploads}.`,
      `Skipped votes: ${votes}.`,
      `Skipped values of custom fields: ${customs}.`,
    ],
  }
}

/** Issues in the format of gh, the newest first. */
export function githubIssues(count: number): Made {
  const from = dice(11)
  let reacted = 0
  const made = Array.from({ length: count }, (_, index) => {
    const number = index + 1
    const [title, body, state] = [sentence(from, `Issue ${number}`), text(from, 'b'), from.one(['OPEN', 'CLOSED'])]
    const [author, assigned, issueLabels] = [from.one(people), from.some(people, 3), from.some(labels, 3)]
    const milestone = from.below(3) === 0 ? { title: 'v2.0' } : null
    const said = Array.from({ length: from.below(5) }, () => {
      const reactionGroups = from.below(12) === 0 ? [{ content: 'HEART' }] : []
      reacted += reactionGroups.length
      return { author: { login: from.one(people) }, body: text(from, 'c'), createdAt: from.at(), reactionGroups }
    })
    const url = `https://github.com/acme/web/issues/${number}`
    const issue = {
      number,
      title,
      body,
      state,
      url,
      author: { login: author },
      assignees: assigned.map(login => ({ login })),
      labels: issueLabels.map(name => ({ name })),
      milestone,
      comments: said,
      createdAt: from.at(),
      updatedAt: from.at(),
      closedAt: state === 'CLOSED' ? from.at() : null,
    }
    const card: Expected = {
      title,
      column: state === 'OPEN' ? 'Backlog' : 'Done',
      labels: issueLabels,
      assignees: assigned,
      dueAt: null,
      creatorName: author,
      isArchived: false,
      prompt: [body, url, ...(milestone ? ['Milestone: v2.0'] : [])],
      comments: said.map(each => [each.author.login, each.createdAt, each.body]),
    }
    return { issue, card }
  })
  return {
    file: made.map(({ issue }) => issue).toReversed(),
    cards: made.map(({ card }) => card),
    warnings: [`Comments imported without their reactions: ${reacted}.`],
  }
}
