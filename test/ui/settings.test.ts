import { describe, expect, test } from 'vitest'
import { initialModel } from '../../cli/ui/state/initial.ts'
import type { Model, Msg } from '../../cli/ui/state/model.ts'
import { update } from '../../cli/ui/state/update.ts'
import { defaultUserSettings } from '../../src/contract/accounts/defaultUserSettings.ts'
import { defaultShortcuts } from '../../src/contract/accounts/shortcuts.ts'

const start: Model = initialModel(
  {
    project: { id: '1', name: 'p' },
    boards: [],
    boardId: '1',
    columns: [],
    pages: [],
    limit: 100,
    settings: defaultUserSettings,
    shortcuts: defaultShortcuts,
  },
  { width: 100, height: 30 },
)
const after = (ms: number, model: Model = start): Model => ({ ...model, nowMs: start.nowMs + ms })
const readsOn = (model: Model, msg: Msg) => update(model, msg).cmds.some(({ type }) => type === 'settings')

describe("the user's settings are read again", () => {
  test('after a minute, and then not for another one', () => {
    expect(readsOn(after(59_000), { type: 'tick' })).toBe(false)
    const { model, cmds } = update(after(61_000), { type: 'tick' })
    expect(cmds).toEqual([{ type: 'settings' }])
    expect([readsOn(after(62_000, model), { type: 'tick' }), readsOn(after(122_000, model), { type: 'tick' })]).toEqual(
      [false, true],
    )
  })

  test('on a reconnection, but not on the first connection', () => {
    expect(readsOn({ ...after(5000), live: 'waiting' }, { type: 'live', state: 'open' })).toBe(true)
    expect(readsOn({ ...after(5000), live: 'connecting' }, { type: 'live', state: 'open' })).toBe(false)
  })

  test('when the user returns, at most once a second, and also with a clock that was set back', () => {
    expect([
      readsOn(after(500), { type: 'returned' }),
      readsOn(after(1500), { type: 'returned' }),
      readsOn(after(-3_600_000), { type: 'tick' }),
    ]).toEqual([false, true, true])
  })
})

test('unchanged keys keep a started sequence, and changed ones cancel it', () => {
  const begun = { ...start, pressed: ['g'] }
  expect(
    update(begun, { type: 'settings', settings: { ...defaultUserSettings }, shortcuts: { ...defaultShortcuts } }).model,
  ).toMatchObject({ pressed: ['g'], settings: start.settings })
  expect(
    update(begun, { type: 'settings', settings: defaultUserSettings, shortcuts: { ...defaultShortcuts, down: 's' } })
      .model,
  ).toMatchObject({ pressed: [], keymap: { keysOf: { down: ['s'] } } })
})
