import { useEffect, useRef, type ReactNode } from 'react'

/** A section of a page with a separate link. */
interface Section {
  id: string
  label: string
  href: string
}

interface SectionsProps {
  /** The accessible name of the list: "Settings of the project". */
  label: string
  sections: readonly Section[]
  /** The ID of the current section. */
  current: string
  children: ReactNode
}

/** Parts of a page with a list of them at the side. On a phone, the list is a scrolling row above. */
export function Sections({ label, sections, current, children }: SectionsProps) {
  const list = useRef<HTMLElement>(null)
  useEffect(() => {
    list.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [current])
  return (
    <div className="sections">
      <nav aria-label={label} ref={list}>
        {sections.map(section => (
          <a key={section.id} href={section.href} aria-current={section.id === current ? 'page' : undefined}>
            {section.label}
          </a>
        ))}
      </nav>
      <div className="section">{children}</div>
    </div>
  )
}
