import { useState, type KeyboardEvent } from 'react'
import { meanings, shownKeys } from '../../../src/boardModel/actionMeanings.ts'
import { hasKeyConflict, keysIn } from '../../../src/boardModel/keymap.ts'
import { defaultShortcuts, type ShortcutAction } from '../../../src/contract/accounts/shortcuts.ts'
import { browserKeys, keyName } from '../app/keyName.ts'
import { announce, showMessage } from '../app/messages.ts'
import { changeShortcuts, shortcuts } from '../app/settings.ts'
import { useStore } from '../app/store.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Dialog } from '../ui/Dialog.tsx'

type Keys = Record<ShortcutAction, string>
const actions = Object.keys(defaultShortcuts) as ShortcutAction[]
/** The descriptions of actions that differ from those in the terminal. */
const said: Record<ShortcutAction, string> = {
  ...meanings,
  edit: 'edit title and prompt',
  browser: 'show the card on a separate page',
  quit: 'close the card',
}

/** Lists the keyboard shortcuts, which apply on this page and in the terminal. Each can be edited. */
export function Shortcuts() {
  const keys: Keys = { ...defaultShortcuts, ...useStore(shortcuts) }
  const [edited, setEdited] = useState<ShortcutAction>()
  const reset = () =>
    confirm({
      title: 'Reset all shortcuts?',
      text: 'This restores the default keys of all actions, on this page and in the terminal.',
      submit: 'Reset all',
      run: () => changeShortcuts(defaultShortcuts),
    })
  return (
    <>
      <p>The shortcuts apply to the board on this page and in the terminal.</p>
      <div className="tools">
        <Button onClick={reset}>Reset all</Button>
      </div>
      <ul className="rows panel" aria-label="Keyboard shortcuts">
        {actions.map(action => (
          <li key={action}>
            <span className="what">{said[action]}</span>
            <span className="keys">
              {keysIn(keys[action]).map(sequence => (
                <kbd key={sequence}>{shownKeys(sequence)}</kbd>
              ))}
            </span>
            <Button aria-label={`Change keys: ${said[action]}`} onClick={() => setEdited(action)}>
              Change
            </Button>
            {keys[action] !== defaultShortcuts[action] && (
              <Button
                isPlain
                icon="undo"
                label={`Reset keys: ${said[action]}`}
                onClick={() => changeShortcuts({ [action]: defaultShortcuts[action] })}
              />
            )}
          </li>
        ))}
      </ul>
      {edited && <Capture action={edited} keys={keys} onClose={() => setEdited(undefined)} />}
    </>
  )
}

/** Keys that leave the field, so that keyboard users are not trapped in it, and keys without an effect. */
const notTaken = new Set(['Tab', 'Shift', 'Control', 'Alt', 'Meta', 'AltGraph', 'CapsLock', 'Dead', 'Process'])

/** Records the pressed keys. */
function Capture({ action, keys, onClose }: { action: ShortcutAction; keys: Keys; onClose: () => void }) {
  const [pressed, setPressed] = useState<string[]>([])
  const sequence = pressed.join(' ')
  const others = actions.filter(
    other => other !== action && sequence !== '' && keysIn(keys[other]).some(each => hasKeyConflict(each, sequence)),
  )
  const onKeyDown = (event: KeyboardEvent) => {
    if (notTaken.has(event.key) || event.metaKey || browserKeys.has(keyName(event))) return
    event.preventDefault()
    event.stopPropagation()
    if (event.key === 'Backspace' && pressed.length > 0) return setPressed(pressed.slice(0, -1))
    setPressed([...pressed.slice(-1), keyName(event)])
    announce(keyName(event))
  }
  const use = async (list: string[]) => {
    // An action that loses a key loses it permanently, because two actions with the same key would leave one without.
    const taken = others.map(other => [
      other,
      keysIn(keys[other])
        .filter(each => !hasKeyConflict(each, sequence))
        .join(',') || keys[other],
    ])
    await changeShortcuts({ ...Object.fromEntries(taken), [action]: list.join(',') })
    showMessage(`${said[action]}: ${shownKeys(sequence)}`)
    onClose()
  }
  const bare = others.filter(other => keysIn(keys[other]).every(each => hasKeyConflict(each, sequence)))
  return (
    <Dialog title={`Keys: ${said[action]}`} onClose={onClose}>
      <div className="form">
        <div className="field">
          <label htmlFor="capture">Press one key, or two keys in sequence</label>
          <input id="capture" readOnly autoFocus value={shownKeys(sequence)} onKeyDown={onKeyDown} />
          <p className="hint">Backspace removes the last key. Tab moves to the buttons.</p>
        </div>
        {others.length > 0 && (
          <p className="notice" role="alert">
            {shownKeys(sequence)} is already used for: {others.map(other => said[other]).join('; ')}.{' '}
            {bare.length > 0
              ? 'That action has no other keys. Change its keys first.'
              : 'The key is removed from that action, which keeps its other keys.'}
          </p>
        )}
        <div className="buttons">
          <Button onClick={onClose}>Cancel</Button>
          <Button
            disabled={sequence === '' || bare.length > 0}
            onClick={() => use([...keysIn(keys[action]), sequence])}
          >
            Add key
          </Button>
          <Button isMain disabled={sequence === '' || bare.length > 0} onClick={() => use([sequence])}>
            Replace keys
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
