import { tintOf } from './tint.ts'

/** The status of a card or session, and its reason. Shown by a word and a shape, not only by color. */
export const Status = ({ status, reason }: { status: string; reason?: string | null }) => (
  <span className={`status ${status}`}>
    {status}
    {reason ? `: ${reason.replaceAll('_', ' ')}` : ''}
  </span>
)

export const Labels = ({ labels }: { labels: readonly string[] }) =>
  labels.map(label => (
    <span key={label} className="label tinted" style={tintOf(label)}>
      {label}
    </span>
  ))
