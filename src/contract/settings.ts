import * as v from 'valibot'
import { integer, text } from './fields.ts'
import { admin, get, put, user } from './route.ts'

const UserSettingsFields = {
  theme: v.picklist(['system', 'light', 'dark'], 'must be system, light or dark'),
  highContrast: v.boolean(),
  sidebarExpanded: v.boolean(),
  agentReasoning: v.boolean(),
  statusLine: v.boolean(),
  hiddenToolTypes: v.pipe(v.array(text(1, 100)), v.maxLength(100)),
}
export const UserSettings = v.object(UserSettingsFields)
export const defaultUserSettings: v.InferOutput<typeof UserSettings> = {
  theme: 'system',
  highContrast: false,
  sidebarExpanded: true,
  agentReasoning: true,
  statusLine: true,
  hiddenToolTypes: [],
}

/** Every action of the terminal board and the keys that do it. */
export const defaultShortcuts = {
  left: 'h,left',
  down: 'j,down',
  up: 'k,up',
  right: 'l,right',
  top: 'g g,home',
  bottom: 'G,end',
  pageDown: 'ctrl+d,pagedown',
  pageUp: 'ctrl+u,pageup',
  moveLeft: 'H',
  moveRight: 'L',
  moveDown: 'J',
  moveUp: 'K',
  select: 'v',
  selectAll: 'V',
  moveTo: 'c',
  filter: '/',
  jump: ':',
  project: 'P',
  sort: 'S',
  density: 'z',
  preview: 'p',
  open: 'enter',
  back: 'escape',
  nextTab: 'tab',
  add: 'n',
  edit: 'e',
  run: 'r',
  cancel: 'x',
  approve: 'a',
  send: 'm',
  agent: 'w',
  label: 't',
  merge: 'M',
  archive: 'A',
  delete: 'D,delete',
  undo: 'u',
  redo: 'U,ctrl+r',
  browser: 'o',
  copyId: 'y i,y y',
  copyTitle: 'y t',
  copyBranch: 'y b',
  help: '?',
  quit: 'q',
} as const
export type ShortcutAction = keyof typeof defaultShortcuts
const actions = Object.keys(defaultShortcuts) as ShortcutAction[]
const KeyNames = text(1, 100)
export const Shortcuts = v.object(
  Object.fromEntries(actions.map(action => [action, KeyNames])) as Record<ShortcutAction, typeof KeyNames>,
)
const SetShortcuts = v.strictObject(
  Object.fromEntries(actions.map(action => [action, v.optional(KeyNames)])) as Record<
    ShortcutAction,
    v.OptionalSchema<typeof KeyNames, undefined>
  >,
)

const ContextRelayFields = {
  enabled: v.boolean(),
  thresholdPercent: integer(1, 99),
  maxSummaryTokens: integer(100, 100_000),
}
/** When a session whose context fills up is handed over to a fresh one, and how long the handoff may be. */
export const ContextRelay = v.object(ContextRelayFields)
export const defaultContextRelay: v.InferOutput<typeof ContextRelay> = {
  enabled: true,
  thresholdPercent: 80,
  maxSummaryTokens: 4000,
}

export const settings = {
  getUser: get('/api/user/settings', { who: user, summary: "Read the caller's settings", output: UserSettings }),
  setUser: put('/api/user/settings', {
    who: user,
    summary: "Change some of the caller's settings",
    input: v.partial(v.strictObject(UserSettingsFields)),
    output: UserSettings,
  }),
  getShortcuts: get('/api/settings/keyboard-shortcuts', {
    who: user,
    summary: "Read the caller's keyboard shortcuts",
    output: Shortcuts,
  }),
  setShortcuts: put('/api/settings/keyboard-shortcuts', {
    who: user,
    summary: "Change some of the caller's keyboard shortcuts",
    input: SetShortcuts,
    output: Shortcuts,
  }),
  getContextRelay: get('/api/settings/context-relay', {
    who: user,
    summary: 'Read when agents hand over to a fresh session',
    output: ContextRelay,
  }),
  setContextRelay: put('/api/settings/context-relay', {
    audited: { target: 'settings', named: 'context-relay' },
    who: admin,
    summary: 'Change when agents hand over to a fresh session',
    input: v.partial(v.strictObject(ContextRelayFields)),
    output: ContextRelay,
  }),
}
