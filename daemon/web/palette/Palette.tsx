import { useEffect, useMemo, useRef, useState, type KeyboardEvent } from 'react'
import { placeOfMatch } from '../../../src/boardModel/placeOfMatch.ts'
import { showError } from '../app/messages.ts'
import { projects } from '../app/projects.ts'
import { navigate, type Route } from '../app/router.ts'
import { client, session, type Me } from '../app/session.ts'
import { changeSettings } from '../app/settings.ts'
import { useStore } from '../app/store.ts'
import { Dialog } from '../ui/Dialog.tsx'
import { commands, palette, type Command } from './commands.ts'

const searchAfterMs = 150
const maxItems = 60

/** Cards, boards, projects and everything that can be done, found by typing. */
export function Palette() {
  const all = useStore(projects)
  const known = useMemo(() => [...commands(), ...globalCommands(), ...(all ?? []).map(projectItem)], [all])
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const hits = useHits(text.trim())
  const list = useRef<HTMLUListElement>(null)
  const items = [...cardById(text.trim()), ...matching(known, text.trim()), ...hits].slice(0, maxItems)
  const chosen = Math.min(at, items.length - 1)
  useEffect(() => {
    void list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' })
  }, [chosen])
  const close = () => palette.set({ isOpen: false })
  const choose = (item: Command | undefined) => {
    if (!item) return
    close()
    // The dialog first returns the focus to the element that the action applies to.
    setTimeout(() => {
      try {
        item.run()
      } catch (error) {
        showError(error)
      }
    })
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key]
    if (by !== undefined) setAt(Math.max(0, Math.min(items.length - 1, chosen + by)))
    else if (event.key === 'Enter') choose(items[chosen])
    else return
    event.preventDefault()
  }
  return (
    <Dialog title="Search and commands" kind="palette" onClose={close}>
      <input
        role="combobox"
        aria-label="Cards, boards, projects, actions"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={chosen >= 0 ? `palette-${chosen}` : undefined}
        aria-autocomplete="list"
        placeholder="Type a name, words of a card, or an action"
        autoComplete="off"
        autoFocus
        value={text}
        onChange={({ target }) => {
          setText(target.value)
          setAt(0)
        }}
        onKeyDown={onKeyDown}
      />
      <ul className="palette-list" id="palette-list" ref={list} role="listbox" aria-label="Results">
        {items.map(({ label, aside, keys, run }, index) => (
          <li
            key={`${label} ${aside} ${index}`}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === chosen}
            onClick={() => choose({ label, run })}
          >
            <span>{label}</span>
            <span className="aside">
              {aside} {keys && <kbd>{keys}</kbd>}
            </span>
          </li>
        ))}
      </ul>
      {items.length === 0 && <p className="hint">No results</p>}
    </Dialog>
  )
}

/** The commands that contain every word; those that begin with the text come first. */
function matching(items: readonly Command[], text: string): Command[] {
  const wanted = text.toLowerCase()
  const words = wanted.split(/\s+/).filter(Boolean)
  const has = ({ label, aside }: Command) => words.every(word => `${label} ${aside ?? ''}`.toLowerCase().includes(word))
  const begins = ({ label }: Command) => Number(label.toLowerCase().startsWith(wanted))
  return items.filter(has).sort((a, b) => begins(b) - begins(a))
}

const to = (label: string, route: Route, aside?: string): Command => ({ label, aside, run: () => navigate(route) })

const projectItem = ({ id, name }: { id: string; name: string }): Command =>
  to(name, { name: 'board', projectId: id }, 'project')

function globalCommands(): Command[] {
  const now = session.get()
  const me: Me | undefined = now.name === 'in' ? now.me : undefined
  const theme = (name: 'light' | 'dark' | 'system') => ({
    label: `Colours: ${name}`,
    run: () => void changeSettings({ theme: name }),
  })
  return [
    to('Home', { name: 'home' }),
    to('My settings', { name: 'me' }),
    to('My shortcuts', { name: 'me', section: 'shortcuts' }),
    ...(me && me.role !== 'user' ? [to('Administration', { name: 'admin' })] : []),
    theme('light'),
    theme('dark'),
    theme('system'),
  ]
}

/** `#12` is a card. */
function cardById(text: string): Command[] {
  const id = /^#?([1-9]\d{0,15})$/.exec(text)?.[1]
  if (id === undefined) return []
  const run = () =>
    void client.cards
      .getFlat({ id })
      .then(({ projectId }) => navigate({ name: 'card', projectId, cardId: id }))
      .catch(showError)
  return [{ label: `Card ${id}`, aside: 'card', run }]
}

/** Returns the server's search results after the person has stopped typing. */
function useHits(text: string): readonly Command[] {
  const [hits, setHits] = useState<readonly Command[]>([])
  useEffect(() => {
    setHits([])
    if (!/[\p{L}\p{N}]/u.test(text)) return
    let isOver = false
    const timer = setTimeout(() => {
      client.search
        .find({ q: text, limit: 20 })
        .then(found => {
          if (isOver) return
          const cards = found.filter(({ type }) => type !== 'project')
          setHits(
            cards.map(({ type, id, projectId, projectName, title, columnName, archived, ...match }) => ({
              label: type === 'card' ? `#${id} ${title}` : title,
              aside: [placeOfMatch(match), projectName, archived ? 'archived' : columnName].filter(Boolean).join(', '),
              run: () =>
                navigate(
                  type === 'card' ? { name: 'card', projectId, cardId: id } : { name: 'board', projectId, boardId: id },
                ),
            })),
          )
        })
        .catch(() => undefined)
    }, searchAfterMs)
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }, [text])
  return hits
}
