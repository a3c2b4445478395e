import type { ShortcutAction } from '../../../src/contract/accounts/shortcuts.ts'
import { useStore } from '../app/store.ts'
import { Button } from '../ui/Button.tsx'
import type { IconName } from '../ui/Icon.tsx'
import { actionOf } from './actions.ts'
import type { BoardSession } from './boardSession.ts'

const offered: readonly [ShortcutAction, string, IconName][] = [
  ['moveTo', 'Move to…', 'right'],
  ['run', 'Start', 'run'],
  ['cancel', 'Cancel', 'stop'],
  ['label', 'Labels…', 'label'],
  ['plan', 'Plan…', 'calendar'],
  ['agent', 'Agent…', 'agent'],
  ['archive', 'Archive', 'archive'],
  ['delete', 'Delete…', 'trash'],
]

/** The actions for several cards. */
export function SelectionBar({ session }: { session: BoardSession }) {
  const count = useStore(session.state, ({ selected }) => selected.size)
  if (count === 0) return null
  return (
    <section className="selection" aria-label="Selected cards">
      <b>{count} selected</b>
      {offered.map(([action, text, icon]) => {
        const run = actionOf(session, action)
        return (
          run && (
            <Button key={action} icon={icon} onClick={() => actionOf(session, action)?.()}>
              {text}
            </Button>
          )
        )
      })}
      <Button
        isPlain
        icon="close"
        label="Clear selection"
        onClick={() => session.set(state => ({ ...state, selected: new Set() }))}
      />
    </section>
  )
}
