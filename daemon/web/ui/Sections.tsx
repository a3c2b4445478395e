import { useEffect, useRef, useState, type ReactNode } from 'react'
import { layers } from '../app/keptFocus.ts'
import { tooltip } from './tooltip.ts'
import { isFound, SettingsSearch } from './settingsSearch.ts'

/** A section of a page with a separate link. */
export interface Section {
  id: string
  label: string
  href: string
  /** The texts of the settings in the section: headings, and labels of fields and buttons. */
  settings?: readonly string[]
}

interface SectionsProps {
  /** The accessible name of the list: "Settings of the project". */
  label: string
  sections: readonly Section[]
  /** The ID of the current section. */
  current: string
  children: ReactNode
}

/** Parts of a page with a list of them at the side, and a search. On a phone, the list is a scrolling row above. */
export function Sections({ label, sections, current, children }: SectionsProps) {
  const list = useRef<HTMLElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const [search, setSearch] = useState('')
  const [sought, seek] = useState<string>()
  useEffect(() => {
    list.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [current])
  useEffect(() => {
    if (sought === undefined) return
    return whenShown(content.current!, sought, () => seek(undefined))
  }, [sought, current])
  const words = search.trim()
  const found = words === '' ? sections.map(withoutSettings) : sections.flatMap(section => findIn(section, words))
  return (
    <div className="sections">
      <div className="sections-side">
        <SearchField label={`Search: ${label}`} value={search} onChange={setSearch} list={list} />
        <nav aria-label={label} ref={list}>
          {found.map(({ id, label: name, href, settings }) => (
            <div key={id}>
              <a href={href} aria-current={id === current ? 'page' : undefined}>
                {name}
              </a>
              {settings.map(setting => (
                <a key={setting} className="setting" href={href} onClick={() => seek(setting)}>
                  {setting}
                </a>
              ))}
            </div>
          ))}
          {found.length === 0 && <p className="hint">No results</p>}
        </nav>
      </div>
      <div className="section" ref={content}>
        <SettingsSearch value={words}>{children}</SettingsSearch>
      </div>
    </div>
  )
}

type Found = Section & { settings: readonly string[] }
const withoutSettings = (section: Section): Found => ({ ...section, settings: [] })

/** Returns a section with the settings that a search finds, or nothing. */
function findIn(section: Section, words: string): Found[] {
  const settings = (section.settings ?? []).filter(setting => isFound(setting, words))
  return settings.length > 0 || isFound(section.label, words) ? [{ ...section, settings }] : []
}

interface SearchFieldProps {
  label: string
  value: string
  onChange: (value: string) => void
  /** The results. */
  list: { current: HTMLElement | null }
}

/** The search of the settings. Enter opens the first result, and / starts the search from anywhere on the page. */
function SearchField({ label, value, onChange, list }: SearchFieldProps) {
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    const start = (event: KeyboardEvent) => {
      const { target, key, ctrlKey, metaKey, altKey } = event
      if (key !== '/' || ctrlKey || metaKey || altKey) return
      if ((target as Element).closest(`input, textarea, select, [contenteditable], ${layers}`)) return
      event.preventDefault()
      field.current!.focus()
      field.current!.select()
    }
    document.addEventListener('keydown', start)
    return () => document.removeEventListener('keydown', start)
  }, [])
  return (
    <input
      ref={field}
      type="search"
      aria-label={label}
      aria-keyshortcuts="/"
      {...tooltip('Search', { keys: '/', isName: true })}
      placeholder="Search"
      autoComplete="off"
      value={value}
      onChange={({ target }) => onChange(target.value)}
      onKeyDown={({ key }) => {
        if (key === 'Escape') onChange('')
        if (key !== 'Enter') return
        const first = list.current?.firstElementChild
        first?.querySelector<HTMLElement>('.setting, a:only-child')?.click()
      }}
    />
  )
}

const maxWaitMs = 5000

/**
 * Focuses the setting with a text as soon as its section shows it.
 * @param onEnd - called when the setting has the focus, or is not found within 5 seconds
 * @returns a function that stops the search
 */
function whenShown(section: HTMLElement, text: string, onEnd: () => void): () => void {
  const look = () => {
    const named = [...section.querySelectorAll<HTMLElement>('label, legend, h3, button, strong')].find(
      each => each.textContent?.trim() === text,
    )
    if (!named) return
    const control = named instanceof HTMLLabelElement ? (named.control ?? named) : named
    if (!control.matches('input, textarea, button')) control.tabIndex = -1
    control.focus({ preventScroll: true })
    named.scrollIntoView({ block: 'center' })
    onEnd()
  }
  const observer = new MutationObserver(look)
  observer.observe(section, { childList: true, subtree: true })
  const timer = setTimeout(onEnd, maxWaitMs)
  look()
  return () => {
    observer.disconnect()
    clearTimeout(timer)
  }
}
