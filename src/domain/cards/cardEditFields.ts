import type { AgentChoice } from '../../contract/agents/agentChoice.ts'
import type { CardBase } from './cardBase.ts'
import type { CardPlan } from './cardPeople.ts'
import type { CardOrder } from './dependencies.ts'

/** The fields of a card that a person changes. */
export interface CardEdit extends CardOrder, CardPlan, CardBase, Partial<AgentChoice> {
  title?: string
  prompt?: string
  labels?: readonly string[]
  groupId?: string | null
  useWorktree?: boolean
  autoMode?: boolean
  /** Whether the caller watches the card. */
  watching?: boolean
}

/** The fields that decide what a card's agent does. */
export const taskFields: ReadonlyArray<keyof CardEdit> = [
  'title',
  'prompt',
  'agent',
  'profile',
  'model',
  'mode',
  'effort',
  'useWorktree',
  'base',
  'baseCardId',
]
/** The fields that decide whether a card's agent starts, and what the agent does. */
export const startFields: ReadonlyArray<keyof CardEdit> = [
  ...taskFields,
  'blockedBy',
  'parentId',
  'startAt',
  'autoMode',
]

export const namesAny = (change: CardEdit, fields: ReadonlyArray<keyof CardEdit>): boolean =>
  fields.some(field => change[field] !== undefined)
