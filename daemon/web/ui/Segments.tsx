import { Button } from './Button.tsx'
import type { IconName } from './Icon.tsx'

interface SegmentsProps<T> {
  label: string
  value: T
  options: readonly { value: T; text: string; count?: number; icon?: IconName; keys?: string }[]
  onChange: (value: T) => void
}

/** Buttons side by side, one of which is pressed. An option with an icon shows its text as a tooltip. */
export function Segments<T extends string>({ label, value, options, onChange }: SegmentsProps<T>) {
  return (
    <div className="segments" role="group" aria-label={label}>
      {options.map(({ value: each, text, count = 0, icon, keys }) => (
        <Button
          key={each}
          isPlain
          icon={icon}
          label={icon && text}
          keys={keys}
          aria-pressed={value === each}
          onClick={() => onChange(each)}
        >
          {!icon && text}
          {count > 0 && <span className="dim"> {count}</span>}
        </Button>
      ))}
    </div>
  )
}
