import type { ShortcutAction } from '../../../src/contract/accounts/shortcuts.ts'
import { boardOf } from './board.ts'
import { boardOnly } from './helpRows.ts'
import { placeOfMatch } from '../../../src/boardModel/placeOfMatch.ts'
import { meanings, shownKeys } from '../../../src/boardModel/actionMeanings.ts'
import type { Size } from '../terminal/session.ts'
import type { Model, PickDialog, Purpose } from './model.ts'
import type { PickItem } from './pickItem.ts'
import { planItems } from './planItems.ts'
import { textIn } from './textField.ts'

type Of<Type extends Purpose['type']> = Extract<Purpose, { type: Type }>

/** The items that match the typed text; those that begin with it come first. */
export function pickItems(model: Model, { purpose, field }: PickDialog): PickItem[] {
  const text = textIn(field).trim()
  switch (purpose.type) {
    case 'go':
      return goItems(model, purpose, text)
    case 'project':
      return matching(projectItems(model, ''), text)
    case 'column':
      return matching(columnItems(model, new Set(purpose.cardIds)), text)
    case 'agent':
      return matching(agentItems(model), text)
    case 'model':
      return matching(modelItems(model, purpose), text)
    case 'label':
      return labelItems(model, purpose, text)
    case 'plan':
      return matching(planItems(model, purpose, text), text)
  }
}

function matching(items: readonly PickItem[], text: string): PickItem[] {
  const wanted = text.toLowerCase()
  const begins = (item: PickItem) => Number(item.text.toLowerCase().startsWith(wanted))
  return items.filter(item => item.text.toLowerCase().includes(wanted)).sort((a, b) => begins(b) - begins(a))
}

/** The columns; with cards to move, only those that do not contain all of them. */
const columnItems = (model: Model, cardIds?: ReadonlySet<string>): PickItem[] =>
  boardOf(model)
    .columns.filter(({ ids }) => !cardIds || ids.filter(id => cardIds.has(id)).length < cardIds.size)
    .map(({ id, name, total }) => ({
      text: name,
      aside: total === 1 ? '1 card' : `${total} cards`,
      target: { type: 'column', id, name },
    }))

const projectItems = ({ projects, project }: Model, kind: string): PickItem[] =>
  projects.map(({ id, name }) => ({
    text: `${name}${kind}`,
    aside: id === project.id ? 'this one' : `project ${id}`,
    target: { type: 'project', id, name },
  }))

/** Columns, boards and projects by name, cards by ID or words, and actions by name. */
function goItems(model: Model, { hits }: Of<'go'>, text: string): PickItem[] {
  const places = [
    ...columnItems(model),
    ...model.boards
      .filter(({ id }) => id !== model.boardId)
      .map(({ id, name }): PickItem => ({ text: `${name} (board)`, target: { type: 'board', id, name } })),
    ...projectItems(model, ' (project)').filter(({ target }) => (target as { id: string }).id !== model.project.id),
  ]
  const found = matching(places, text)
  const isExact = places.some(({ target }) => (target as { name: string }).name.toLowerCase() === text.toLowerCase())
  const id = /^#?([1-9]\d{0,15})$/.exec(text)?.[1]
  if (text === '') return found
  return [
    ...(id !== undefined && !isExact ? [{ text: `card ${id}`, target: { type: 'card' as const, id } }] : []),
    ...found,
    ...actionItems(model, text),
    ...hits.map(hitItem),
  ]
}

const hitItem = ({ id, title, projectName, columnName, ...match }: Of<'go'>['hits'][number]): PickItem => ({
  text: `#${id} ${title}`,
  aside: [placeOfMatch(match), projectName, columnName].filter(Boolean).join(', '),
  target: { type: 'card', id },
})

/** Actions without an entry in the search by name. */
const movements: ReadonlySet<ShortcutAction> = new Set([
  'left',
  'down',
  'up',
  'right',
  'top',
  'bottom',
  'pageDown',
  'pageUp',
  'back',
  'nextTab',
  'jump',
  'table',
])

/** Matches prefixes only, so that a misspelt name does nothing. */
function actionItems({ commands, keymap, opened }: Model, text: string): PickItem[] {
  const begins = (name: string) => name.toLowerCase().startsWith(text.toLowerCase())
  return [
    ...(Object.keys(meanings) as ShortcutAction[]).flatMap((action): PickItem[] =>
      begins(action) && !movements.has(action) && !(opened && boardOnly.has(action))
        ? [
            {
              text: `${action}: ${meanings[action]}`,
              aside: keyOf(keymap.keysOf[action][0]),
              target: { type: 'action', action },
            },
          ]
        : [],
    ),
    ...commands.flatMap((command): PickItem[] =>
      begins(command.name)
        ? [{ text: `${command.name} (command)`, aside: keyOf(command.key), target: { type: 'command', command } }]
        : [],
    ),
  ]
}

const keyOf = (keys: string | undefined): string | undefined => (keys === undefined ? undefined : shownKeys(keys))

const agentItems = ({ agents, agentProfiles }: Model): PickItem[] => [
  { text: "the project's agent", aside: 'default', target: { type: 'agent', id: null } },
  ...agents
    .toSorted((a, b) => Number(b.installed) - Number(a.installed))
    .map(({ id, name, installed, install }): PickItem => ({
      text: name === id ? id : `${id}  ${name}`,
      aside: installed ? 'installed' : 'not installed',
      target: { type: 'agent', id, ...(!installed && { install: install ?? '' }) },
    })),
  ...agentProfiles.map(({ name, agent }): PickItem => ({
    text: name,
    aside: `profile of ${agent}`,
    target: { type: 'agent', id: agent, profile: name },
  })),
]

const modelItems = ({ agents }: Model, { choice }: Of<'model'>): PickItem[] => [
  { text: "the agent's own model", aside: 'default', target: { type: 'model', id: null } },
  ...(agents.find(({ id }) => id === choice.agent)?.models ?? []).map(({ id, name }): PickItem => ({
    text: name === id ? id : `${id}  ${name}`,
    target: { type: 'model', id },
  })),
]

/** The labels of all loaded cards, and the typed text as a new one. */
function labelItems({ cache }: Model, { cardIds, marks }: Of<'label'>, text: string): PickItem[] {
  const cards = cardIds.flatMap(id => cache.cards.get(id) ?? [])
  const known = new Set([...cards.flatMap(({ labels }) => labels), ...labelsOf(cache.cards), ...Object.keys(marks)])
  const markOf = (label: string): PickItem['mark'] => {
    if (Object.hasOwn(marks, label)) return marks[label] ? 'on' : 'off'
    const count = cards.filter(({ labels }) => labels.includes(label)).length
    return count === 0 ? 'off' : count === cards.length ? 'on' : 'some'
  }
  const item = (label: string, aside?: string): PickItem => ({
    text: label,
    aside,
    mark: markOf(label),
    target: { type: 'label', id: label, name: label },
  })
  const items = matching(
    [...known].sort().map(label => item(label)),
    text,
  )
  return text === '' || known.has(text) ? items : [...items, item(text, 'new')]
}

const labelled = new WeakMap<Model['cache']['cards'], string[]>()

/** The labels of cards, memoized. */
function labelsOf(cards: Model['cache']['cards']): string[] {
  const gathered = labelled.get(cards) ?? [...new Set([...cards.values()].flatMap(({ labels }) => labels))]
  labelled.set(cards, gathered)
  return gathered
}

/** The number of visible items. It depends on the terminal only, so that the list does not jump while typing. */
export const pickRows = ({ height }: Size): number => Math.max(1, Math.min(14, height - 9))

/** The first visible item, so that the one under the cursor is visible. */
export const pickTop = (at: number, count: number, rows: number): number =>
  Math.max(0, Math.min(at - Math.floor(rows / 2), count - rows))
