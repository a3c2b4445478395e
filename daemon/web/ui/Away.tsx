import type { ReactNode } from 'react'

interface AwayProps {
  url: string | null
  className?: string
  children: ReactNode
}

/** A link to a forge, if the URL is safe for a browser. */
export const Away = ({ url, className, children }: AwayProps) =>
  url !== null && /^https?:\/\//i.test(url) ? (
    <a className={className} href={url} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  ) : (
    <span className={className}>{children}</span>
  )
