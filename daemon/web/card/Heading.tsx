import { createContext, useContext, type ReactNode } from 'react'

/** Whether the card is a separate page: its title is then the page title, and its parts are the next heading level. */
export const AsPage = createContext(false)

/** The name of a part of the card. */
export function Heading({ children }: { children: ReactNode }) {
  return useContext(AsPage) ? <h2 className="part-name">{children}</h2> : <h3 className="part-name">{children}</h3>
}
