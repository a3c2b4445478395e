import { formatTime } from '../ui/Time.tsx'
import { tooltip } from '../ui/tooltip.ts'

/** The time of day of a message. */
export const Clock = ({ at }: { at: string }) => (
  <time dateTime={at} {...tooltip(formatTime(at, 'second'))}>
    {formatTime(at, 'clock')}
  </time>
)
