import { createContext, useContext, type ReactNode } from 'react'

/** Whether the card is a page of its own: its title is the page's then, and its parts come right below. */
export const AsPage = createContext(false)

/** The name of a part of the card. */
export function Heading({ children }: { children: ReactNode }) {
  return useContext(AsPage) ? <h2 className="part-name">{children}</h2> : <h3 className="part-name">{children}</h3>
}
