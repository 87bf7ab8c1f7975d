// Time: which frame is shown, and how it goes on. Every pose that is shown is a stored sample.

const FRAMES_PER_SECOND = 30;

export class Player {
  constructor(count, onFrame) {
    this.count = count;
    this.onFrame = onFrame;
    this.frame = 0;
    this.playing = false;
    this.speed = 1;
    this.loop = true;
    this.owed = 0; // part of a frame that is due
    this.last = 0;
  }

  seek(frame) {
    const chosen = Math.min(Math.max(Math.round(frame), 0), this.count - 1);
    if (!Number.isFinite(chosen) || chosen === this.frame) return;
    this.frame = chosen;
    this.onFrame(chosen);
  }

  play() {
    if (this.count < 2) return;
    if (!this.loop && this.frame === this.count - 1) this.seek(0);
    this.playing = true;
    this.owed = 0;
    this.last = performance.now();
  }

  pause() {
    this.playing = false;
  }

  tick(now) {
    if (!this.playing) return;
    this.owed += Math.min((now - this.last) / 1000, 0.25) * FRAMES_PER_SECOND * this.speed;
    this.last = now;
    const whole = Math.floor(this.owed);
    this.owed -= whole;
    if (whole === 0) return;
    const next = this.frame + whole;
    if (next < this.count) this.seek(next);
    else if (this.loop) this.seek(next % this.count);
    else {
      this.seek(this.count - 1);
      this.pause();
    }
  }
}
