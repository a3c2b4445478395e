import { keymapOf } from './keymap.ts'
import { updated, type Model, type Msg, type Update } from './model.ts'

/** Nothing tells of changed settings, so they are read again when the person comes back, and now and then. */
export const settingsEveryMs = 60_000
export const settingsOnReturnMs = 1000

/** Reads the person's settings again unless they were read within that time. */
export const readSettings = (model: Model, withinMs: number): Update =>
  Math.abs(model.nowMs - model.settingsAtMs) < withinMs
    ? updated(model)
    : updated({ ...model, settingsAtMs: model.nowMs }, { type: 'settings' })

/** Goes on with these settings. Those that are the same stay the same objects. */
export function withSettings(model: Model, { settings, shortcuts }: Extract<Msg, { type: 'settings' }>): Model {
  const keymap = keymapOf(shortcuts, model.commands)
  const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)
  return {
    ...model,
    settings: isSame(settings, model.settings) ? model.settings : settings,
    ...(!isSame(keymap.keysOf, model.keymap.keysOf) && { keymap, pressed: [] }),
  }
}
