import { useEffect } from 'react'
import { Store } from '../app/store.ts'

/** A command that is available on the current page. */
export interface Command {
  label: string
  run: () => void
  /** The keys that do the same. */
  keys?: string
  /** The target or the subject of the command. */
  aside?: string
}

/** Whether the palette is open. */
export const palette = new Store<{ isOpen: boolean }>({ isOpen: false })

const providers = new Set<() => readonly Command[]>()

/** Everything that can be done now. */
export const paletteCommands = (): Command[] => [...providers].flatMap(provide => provide())

/** Adds a page's commands to the palette while the page is shown. `provide` is called when the palette opens. */
export function useCommands(provide: () => readonly Command[], of: readonly unknown[]): void {
  useEffect(() => {
    providers.add(provide)
    return () => {
      providers.delete(provide)
    }
    // The caller lists the dependencies.
  }, of)
}

/** Handles Ctrl-K and Cmd-K on all pages. */
export function listenForPaletteKey(): () => void {
  const onKey = (event: KeyboardEvent) => {
    if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return
    event.preventDefault()
    palette.set({ isOpen: !palette.get().isOpen })
  }
  // Dialogs capture keys, so this listener runs before them.
  document.addEventListener('keydown', onKey, true)
  return () => document.removeEventListener('keydown', onKey, true)
}
