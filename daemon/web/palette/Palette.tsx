import { Autocomplete } from '@base-ui/react/autocomplete'
import { useMemo, useState } from 'react'
import { placeOfMatch } from '../../../src/boardModel/placeOfMatch.ts'
import { showError } from '../app/messages.ts'
import { projects } from '../app/projects.ts'
import { navigate, type Route } from '../app/router.ts'
import { client, session, type Me } from '../app/session.ts'
import { changeSettings } from '../app/settings.ts'
import { useStore } from '../app/store.ts'
import { useSearch } from '../app/useSearch.ts'
import { Dialog } from '../ui/Dialog.tsx'
import { paletteCommands, palette, type Command } from './commands.ts'

const maxItems = 60

/** A search over cards, boards, projects and commands. */
export function Palette() {
  const all = useStore(projects)
  const known = useMemo(() => [...paletteCommands(), ...globalCommands(), ...(all ?? []).map(projectItem)], [all])
  const [text, setText] = useState('')
  const hits = useSearch(text.trim(), searchCards) ?? []
  const items = [...cardById(text.trim()), ...filterItems(known, text.trim()), ...hits].slice(0, maxItems)
  const close = () => palette.set({ isOpen: false })
  const choose = (item: Command) => {
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
  return (
    <Dialog title="Search and commands" kind="palette" onClose={close}>
      <Autocomplete.Root
        inline
        open
        mode="none"
        autoHighlight="always"
        items={items}
        itemToStringValue={({ label }) => label}
        value={text}
        onValueChange={(typed, { reason }) => {
          if (reason !== 'item-press') setText(typed)
        }}
      >
        <Autocomplete.Input
          aria-label="Cards, boards, projects, actions"
          placeholder="Type a name, words of a card, or an action"
          autoComplete="off"
        />
        <Autocomplete.List className="palette-list" aria-label="Results">
          {(item: Command, index: number) => (
            <Autocomplete.Item key={`${item.label} ${item.aside} ${index}`} value={item} onClick={() => choose(item)}>
              <span>{item.label}</span>
              <span className="aside">
                {item.aside} {item.keys && <kbd>{item.keys}</kbd>}
              </span>
            </Autocomplete.Item>
          )}
        </Autocomplete.List>
        <Autocomplete.Empty className="hint">{items.length === 0 && 'No results'}</Autocomplete.Empty>
      </Autocomplete.Root>
    </Dialog>
  )
}

/** The commands that contain every word; those that begin with the text come first. */
function filterItems(items: readonly Command[], text: string): Command[] {
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
    label: `Theme: ${name}`,
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

/** The part of a card that shows the match. */
const parts = {
  name: {},
  card: {},
  comment: { tab: 'activity', show: 'comment' },
  message: { tab: 'activity', show: 'transcript' },
}

/** Returns the server's search results: cards and boards. */
async function searchCards(q: string): Promise<Command[]> {
  if (!/[\p{L}\p{N}]/u.test(q)) return []
  const found = await client.search.find({ q, limit: 20 })
  return found
    .filter(({ type }) => type !== 'project')
    .map(({ type, id, projectId, projectName, title, columnName, archived, ...match }) => ({
      label: type === 'card' ? `#${id} ${title}` : title,
      aside: [placeOfMatch(match), projectName, archived ? 'archived' : columnName].filter(Boolean).join(', '),
      run: () =>
        navigate(
          type === 'card'
            ? { name: 'card', projectId, cardId: id, ...parts[match.foundIn] }
            : { name: 'board', projectId, boardId: id },
        ),
    }))
}
