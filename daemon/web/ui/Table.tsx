import type { ReactNode } from 'react'

/**
 * Rows below column headers. In narrow windows, the table scrolls horizontally. A column without a name holds buttons.
 */
export const Table = ({ label, head, children }: { label: string; head: readonly string[]; children: ReactNode }) => (
  <div className="scroll-x" role="region" aria-label={label} tabIndex={0}>
    <table className="table">
      <thead>
        <tr>
          {head.map((name, at) => (
            <th key={at} scope="col">
              {name === '' ? <span className="visually-hidden">Actions</span> : name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
)
