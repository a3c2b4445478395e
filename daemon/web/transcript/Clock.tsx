import { formatTime } from '../ui/Time.tsx'

/** The time of day of a message. */
export const Clock = ({ at }: { at: string }) => (
  <time dateTime={at} title={formatTime(at, 'second')}>
    {formatTime(at, 'clock')}
  </time>
)
