/** How a card or a session stands, and why. It is told by a word and a shape, not by colour alone. */
export const Status = ({ status, reason }: { status: string; reason?: string | null }) => (
  <span className={`status ${status}`}>
    {status}
    {reason ? `: ${reason.replaceAll('_', ' ')}` : ''}
  </span>
)

export const Labels = ({ labels }: { labels: readonly string[] }) =>
  labels.map(label => (
    <span key={label} className="label">
      {label}
    </span>
  ))
