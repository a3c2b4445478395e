import { keymapOf } from '../../../src/boardModel/keymap.ts'
import { toUpdate, type Model, type Msg, type Update } from './model.ts'

/** There is no event for changed settings, so they are polled once a minute and when the person returns to the terminal. */
export const settingsPollMs = 60_000
export const minSettingsAgeOnReturnMs = 1000

/** Reads the person's settings again unless they were read less than `withinMs` ago. */
export const readSettings = (model: Model, withinMs: number): Update =>
  Math.abs(model.nowMs - model.settingsAtMs) < withinMs
    ? toUpdate(model)
    : toUpdate({ ...model, settingsAtMs: model.nowMs }, { type: 'settings' })

/** Applies settings. Unchanged ones keep their objects, so that the memoized board stays. */
export function withSettings(model: Model, { settings, shortcuts }: Extract<Msg, { type: 'settings' }>): Model {
  const keymap = keymapOf(shortcuts, model.commands)
  const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)
  return {
    ...model,
    settings: isSame(settings, model.settings) ? model.settings : settings,
    ...(!isSame(keymap.keysOf, model.keymap.keysOf) && { keymap, pressed: [] }),
  }
}
