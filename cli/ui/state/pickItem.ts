import type { ShortcutAction } from '../../../src/contract/accounts/shortcuts.ts'
import type { UserCommand } from '../../context/userCommands.ts'
import type { PlanStep } from './model.ts'

/** One line of a list. */
export interface ListItem {
  text: string
  aside?: string
  /** For a label: whether all, some or none of the cards have it. */
  mark?: 'on' | 'some' | 'off'
}
/** One line of a list to pick from. */
export interface PickItem extends ListItem {
  target: Target
}
type Target =
  | { type: 'column' | 'board' | 'project' | 'label'; id: string; name: string }
  | { type: 'card'; id: string }
  | { type: 'agent'; id: string | null; profile?: string; install?: string }
  | { type: 'model'; id: string | null }
  | { type: 'plan'; step: PlanStep }
  | { type: 'action'; action: ShortcutAction }
  | { type: 'command'; command: UserCommand }
