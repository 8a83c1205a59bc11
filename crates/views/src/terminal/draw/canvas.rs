//! Writing on the screen: in the inks of the terminal's own 16 colours, and never beside it.

use crate::model::State;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line as Drawn, Span};

use crate::terminal::model::{Spot, Theme};
use crate::terminal::paper::{Ink, Piece};

pub struct Canvas<'a> {
    buffer: &'a mut Buffer,
    area: Rect,
    theme: Theme,
}

impl<'a> Canvas<'a> {
    pub fn new(buffer: &'a mut Buffer, area: Rect, theme: Theme) -> Self {
        Self { buffer, area, theme }
    }

    pub fn area(&self) -> Rect {
        self.area
    }

    /// Writes a line at a place within a part of the screen. What does not fit is left out.
    pub fn write(&mut self, spot: Spot, x: u16, y: u16, line: &[Piece]) {
        self.write_styled(spot, x, y, line, Modifier::empty());
    }

    /// The same for a line that is chosen.
    pub fn write_bold(&mut self, spot: Spot, x: u16, y: u16, line: &[Piece]) {
        self.write_styled(spot, x, y, line, Modifier::BOLD);
    }

    fn write_styled(&mut self, spot: Spot, x: u16, y: u16, line: &[Piece], more: Modifier) {
        let (at_x, at_y) = (spot.x.saturating_add(x), spot.y.saturating_add(y));
        if x >= spot.width
            || y >= spot.height
            || at_x >= self.area.width
            || at_y >= self.area.height
        {
            return;
        }
        let room = (spot.width - x).min(self.area.width - at_x);
        let style = |ink| style(ink, self.theme).add_modifier(more);
        let spans = line.iter().map(|piece| Span::styled(piece.text.as_str(), style(piece.ink)));
        self.buffer.set_line(at_x, at_y, &Drawn::from_iter(spans), room);
    }

    /// Takes away what is on a line of a part of the screen.
    pub fn clear(&mut self, spot: Spot, y: u16) {
        let rect = Rect { x: spot.x, y: spot.y.saturating_add(y), width: spot.width, height: 1 };
        let rect = rect.intersection(self.area);
        for at in rect.positions() {
            if let Some(cell) = self.buffer.cell_mut(at) {
                cell.reset();
            }
        }
    }
}

pub fn state_ink(state: State) -> Ink {
    match state {
        State::Asks => Ink::Mind,
        State::Working => Ink::Live,
        State::Queued | State::Cancelled => Ink::Faint,
        State::Completed => Ink::Good,
        State::Failed => Ink::Bad,
    }
}

fn style(ink: Ink, theme: Theme) -> Style {
    let plain = Style::new();
    let (style, colour) = match ink {
        Ink::Plain => (plain, None),
        Ink::Strong => (plain.bold(), None),
        Ink::Emphasis => (plain.italic(), None),
        Ink::Struck => (plain.crossed_out(), None),
        Ink::Faint => (plain.dim(), None),
        Ink::Code => (plain, Some(Color::Magenta)),
        Ink::Heading => (plain.bold().underlined(), None),
        Ink::Link => (plain.underlined(), None),
        Ink::Good => (plain, Some(Color::Green)),
        Ink::Bad => (plain, Some(Color::Red)),
        Ink::Mind => (plain, Some(Color::Yellow)),
        Ink::Live => (plain, Some(Color::Cyan)),
    };
    match colour {
        Some(colour) if theme.colours => style.fg(colour),
        _ => style,
    }
}
